import test from 'ava';
import { user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { codeOf, serve } from './service.ts';

const { send, data, refused, thread } = serve(test);
const gated = serve(test, 'gated');

type State = Record<string, unknown> & { context: unknown[] };

const stateOf = async (reply: Promise<unknown>): Promise<State> => ((await reply) as { state: State }).state;
const pathOf = (id: string): string => `/v1/threads/${id}/state`;

test('the state has every field, stored or by its default', async (t) => {
  await thread('read');
  const state = await stateOf(data(t, 'getState', send('GET', pathOf('read'))));
  t.like(state, { rounds: 1, notes: [], context_summary: '' });
  t.is(state.context.length, 2);
});

for (const method of ['POST', 'PUT']) {
  test(`${method} passes fields through their reducers and gives the whole state`, async (t) => {
    const id = `written-${method}`;
    await thread(id);
    const write = (state: unknown) => send(method, pathOf(id), { config: { thread_id: id }, state });
    await write({ notes: ['a'] });
    const state = await stateOf(data(t, 'updateState', write({ notes: ['b'], rounds: 7 })));
    t.like(state, { notes: ['a', 'b'], rounds: 7 });
    t.is(state.context.length, 2);
    t.deepEqual(await stateOf(data(t, 'getState', send('GET', pathOf(id)))), state);
  });
}

test('clearing the state keeps the thread and its messages', async (t) => {
  await thread('cleared');
  t.deepEqual(await data(t, 'clearState', send('DELETE', pathOf('cleared'))), { success: true } as never);
  const state = await stateOf(data(t, 'getState', send('GET', pathOf('cleared'))));
  t.like(state, { rounds: 0, notes: [], context: [] });
  const { messages } = (await data(t, 'listMessages', send('GET', '/v1/threads/cleared/messages'))) as {
    messages: unknown[];
  };
  t.is(messages.length, 2);
});

test('a config that names another thread than the path is 400', async (t) => {
  await thread('mine');
  await refused(t, send('POST', pathOf('mine'), { config: { thread_id: 'yours' }, state: {} }), 400, codeOf(400));
});

test('the state of a thread that is not there is 404, to read, write and clear', async (t) => {
  await refused(t, send('GET', pathOf('nowhere')), 404, codeOf(404));
  await refused(t, send('POST', pathOf('nowhere'), { config: {}, state: {} }), 404, codeOf(404));
  await refused(t, send('DELETE', pathOf('nowhere')), 404, codeOf(404));
});

for (const [what, body, loc] of [
  ['no config', { state: {} }, ['body', 'config']],
  ['no state', { config: {} }, ['body', 'state']],
  ['a state that is a list', { config: {}, state: [] }, ['body', 'state']],
  ['a state that is null', { config: {}, state: null }, ['body', 'state']],
  ['a field of another type', { config: {}, state: { rounds: 'many' } }, ['body', 'state', 'rounds']],
  ['a value that a reducer does not take', { config: {}, state: { rounds: 1, notes: 7 } }, ['body', 'state', 'notes']],
  ['a state that is too large', { config: {}, state: { notes: ['x'.repeat(2 * 1024 * 1024)] } }, ['body', 'state']],
] as const) {
  test(`${what} is 422 and named`, async (t) => {
    const id = `misfit-${what.replaceAll(' ', '-')}`;
    await thread(id);
    t.deepEqual(await refused(t, send('POST', pathOf(id), body), 422, codeOf(422)), [loc]);
  });
}

test('concurrent writes to one thread stand in line: each is done, and none is lost', async (t) => {
  await thread('line');
  const notes = Array.from({ length: 40 }, (_, index) => `note ${index}`);
  const replies = await Promise.all(
    notes.map((note) => send('POST', pathOf('line'), { config: {}, state: { notes: [note] } })),
  );
  t.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
  const state = await stateOf(data(t, 'getState', send('GET', pathOf('line'))));
  t.deepEqual((state['notes'] as string[]).toSorted(), notes.toSorted());
});

test('while a run holds the thread its state and messages cannot be written', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'held', gate: gate.url };
  const run = gated.send('POST', '/v1/graph/invoke', { messages: [user('go')], config });
  await gate.visited(1);
  const messages = '/v1/threads/held/messages';
  const { send: sendTo } = gated;
  await refused(t, sendTo('POST', pathOf('held'), { config: {}, state: { steps: 1 } }), 409, codeOf(409));
  await refused(t, sendTo('DELETE', pathOf('held')), 409, codeOf(409));
  await refused(t, sendTo('POST', messages, { messages: [user('x')] }), 409, codeOf(409));
  const strategy = { ...config, multitask_strategy: 'reject' };
  await refused(t, sendTo('POST', '/v1/graph/invoke', { messages: [user('x')], config: strategy }), 409, codeOf(409));
  gate.open();
  t.is((await run).status, 200);
});
