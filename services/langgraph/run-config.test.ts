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
      ...{ ...nobody, user: {}, idempotency_key: 'key' },
    },
    context: { tone: 'dry', user_id: 'u1', locale: 'fr' },
    tags: ['a'],
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
