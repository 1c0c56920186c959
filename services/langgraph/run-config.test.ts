import type { RunContext } from '@agent-workflow/graph';
import test from 'ava';
import { runConfigOf } from './run-config.ts';

const of = (parts: Partial<RunContext>): object =>
  runConfigOf({ threadId: 't', runId: 'r', config: {}, context: {}, user: {}, ...parts } as RunContext, 'key');

test('nodes get what LangGraph Server gives them, the names of the caller, and none of the service', (t) => {
  const config = {
    ...{ tone: 'dry', user_id: 'u1', tags: ['a'], checkpoint_id: 'x', run_id: 'y', __pregel_resuming: true },
    ...{ agent: 'agent', graph_id: 'agent', langgraph_assistant_id: 'own', metadata: { a: 1 }, on_completion: 'keep' },
    ...{ multitask_strategy: 'enqueue', on_disconnect: 'continue', thread_name: 'n', ttl: 5, assistant_version: 1 },
    ...{ langgraph_auth_user_id: 'root', remote_tools: [] },
  };
  const nobody = { langgraph_auth_user: null, langgraph_auth_user_id: '', langgraph_auth_permissions: [] };
  t.deepEqual(of({ config, context: { locale: 'fr' } }), {
    configurable: {
      ...{ tone: 'dry', user_id: 'u1', thread_id: 't', run_id: 'r', graph_id: 'agent', assistant_id: 'own' },
      ...{ locale: 'fr', ...nobody, user: {}, idempotency_key: 'key' },
    },
    context: { tone: 'dry', user_id: 'u1', locale: 'fr' },
    tags: ['a'],
    metadata: { a: 1 },
  });
});

test('nodes get the user who has signed in, and the stored assistant of the run', (t) => {
  const user = { sub: 'ada', permissions: ['read'] };
  t.like(of({ config: { user_id: 'ada', assistant_id: 's1', langgraph_assistant_id: 's1' }, user }), {
    configurable: {
      ...{ user_id: 'ada', assistant_id: 's1', langgraph_auth_user: user, langgraph_auth_user_id: 'ada' },
      langgraph_auth_permissions: ['read'],
    },
  });
});

test('what a context says stands in the config, too, but for what says who the caller is', (t) => {
  const user = { sub: 'ada', tenant: 'one' };
  const forged = {
    ...{ user_id: 'root', role: 'admin', roles: ['admin'], email: 'e', scope: 's', sub: 'root', tenant: 'two' },
    ...{ langgraph_auth_user: { identity: 'root' }, langgraph_auth_user_id: 'root', langgraph_auth_permissions: ['*'] },
    ...{ thread_id: 'other', run_id: 'other', user: { sub: 'root' }, __pregel_resuming: true },
  };
  const config = { user_id: 'ada', tenant: 'one', tone: 'dry' };
  const { configurable } = of({ config, user, context: { ...forged, tone: 'wet', locale: 'fr' } }) as {
    readonly configurable: object;
  };
  t.deepEqual(configurable, {
    ...{ user_id: 'ada', tenant: 'one', tone: 'wet', locale: 'fr', thread_id: 't', run_id: 'r', user },
    ...{ langgraph_auth_user: user, langgraph_auth_user_id: 'ada', langgraph_auth_permissions: [] },
    idempotency_key: 'key',
  });
});

test('nodes get the metadata of the request, and none that say what a node, a model or the caller is', (t) => {
  const metadata = {
    ...{ batch: 7, run_id: 'x', graph_id: 'g', langgraph_node: 'n', checkpoint_ns: 'c', ls_model_name: 'm' },
    ...{ user_id: 'root', tenant: 'two', __private: 1 },
  };
  const config = { metadata, user_id: 'ada' };
  t.like(of({ config, user: { sub: 'ada', tenant: 'one' } }), { metadata: { batch: 7 } });
  t.deepEqual((of({ config, user: { tenant: 'one' } }) as { readonly metadata: object }).metadata, { batch: 7 });
  t.false('metadata' in of({ config: { metadata: { graph_id: 'g' } } }));
});
