import test from 'ava';
import type { Client } from '@langchain/langgraph-sdk';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

const exportOf = (name: string): string => agentAt('lang-graph-tasks').replace(/:graph$/, `:${name}`);
const service = serveLangGraph(
  test,
  {},
  { loop: exportOf('loop'), throwing: exportOf('throwing'), sends: exportOf('sends') },
);

const input = { notes: ['given'] };

interface Frame {
  readonly event: string;
  readonly data: unknown;
}

async function framesOf(client: Client, threadId: string, graph: string, payload: object): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  const streamMode = ['values', 'tasks'] as const;
  try {
    for await (const frame of client.runs.stream(threadId, graph, { input, streamMode: [...streamMode], ...payload }))
      frames.push(frame);
  } catch {
    // The client throws what an `error` frame says, behind it.
  }
  return frames;
}

const waited = async (threadId: string, graph: string, payload: object): Promise<unknown> =>
  (await service.send('POST', `/threads/${threadId}/runs/wait`, { assistant_id: graph, input, ...payload })).body;

const tooLong = {
  error: 'GraphRecursionError',
  message: 'the run reached its recursion_limit of 3 before its graph came to an end',
};

test('a run that reaches its recursion limit fails as GraphRecursionError, and its steps stay', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const config = { recursion_limit: 3 };
  t.deepEqual(await waited(id, 'loop', { config }), { __error__: tooLong });
  const [run] = await client.runs.list(id);
  t.is(run?.status, 'error');
  t.deepEqual((await client.runs.list(id, { status: 'success' })).length, 0);
  const thread = await client.threads.get(id);
  t.is(thread.status, 'error');
  t.deepEqual((thread as { readonly error?: unknown }).error, tooLong);
  const { values, next, tasks } = await client.threads.getState<{ notes: string[] }>(id);
  t.deepEqual(values.notes, ['given', 'turn', 'turn', 'turn']);
  t.deepEqual([next, tasks.map(({ name, error }) => [name, error])], [['turn'], [['turn', null]]]);

  const { thread_id: other } = await client.threads.create();
  const frames = await framesOf(client, other, 'loop', { config });
  t.deepEqual(frames.at(-1), { ...frames.at(-1), event: 'error', data: tooLong });
  t.is(frames.filter(({ event }) => event === 'values').length, 4);
});

test('a run of /v1 that reaches its recursion limit ends with what it has', async (t) => {
  const body = { messages: [], initial_state: input, recursion_limit: 2, config: { agent: 'loop' } };
  const answer = await fetch(`${service.url().replace(/\/langgraph$/, '')}/v1/graph/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { data } = (await answer.json()) as { data: { recursion_limit_reached: boolean; meta: { status: string } } };
  t.deepEqual([answer.status, data.recursion_limit_reached, data.meta.status], [200, true, 'completed']);
});

test('a node that throws has one error everywhere: its class and its node, and no word of its message', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const message = 'node "bad" of LangGraph failed: an unexpected error, which is in the log of the service';
  const error = { error: 'Unwilling', message };
  t.deepEqual(await waited(id, 'throwing', {}), { __error__: error });
  t.deepEqual(((await client.threads.get(id)) as { readonly error?: unknown }).error, error);
  const state = await client.threads.getState<{ notes: string[] }>(id);
  t.deepEqual(state.values.notes, ['given', 'first']);
  t.deepEqual(state.next, ['bad']);
  t.deepEqual(
    state.tasks.map(({ name, error: why, result }) => [name, why, result]),
    [['bad', `Unwilling(${JSON.stringify(message)})`, null]],
  );
  const { thread_id: other } = await client.threads.create();
  const frames = await framesOf(client, other, 'throwing', {});
  const [failed, last] = frames.slice(-2);
  t.deepEqual([last?.event, last?.data], ['error', error]);
  t.is(failed?.event, 'tasks');
  t.like(failed?.data, { name: 'bad', error, result: {}, interrupts: [] });
  t.false(JSON.stringify([state, frames]).includes('secret'));
});
