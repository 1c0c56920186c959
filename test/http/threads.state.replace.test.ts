import test from 'ava';
import { user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { codeOf, serve } from './service.ts';

const { send, data, refused, thread } = serve(test);
const gated = serve(test, 'gated');

interface Read {
  readonly state: Readonly<Record<string, unknown>> & { readonly context: readonly object[] };
  readonly checkpoint_id: string;
}

const pathOf = (id: string): string => `/v1/threads/${id}/state`;
const read = async (id: string): Promise<Read> => (await send('GET', pathOf(id))).body.data;
const replace = (id: string, state: unknown, checkpoint: unknown, method = 'POST') =>
  send(method, pathOf(id), { config: {}, state, mode: 'replace', checkpoint_id: checkpoint });

/** A thread whose field with a reducer has two notes. */
async function noted(id: string): Promise<Read> {
  await thread(id);
  for (const note of ['a', 'b']) await send('POST', pathOf(id), { config: {}, state: { notes: [note] } });
  return read(id);
}

for (const method of ['POST', 'PUT'])
  test(`${method}: a replacement sets fields past their reducers, and the others, log and context stay`, async (t) => {
    const id = `set-${method}`;
    const before = await noted(id);
    const reply: Read = await data(t, 'updateState', replace(id, { notes: ['c'] }, before.checkpoint_id, method));
    t.deepEqual(reply.state, { ...before.state, notes: ['c'] });
    t.deepEqual(await read(id), reply);
    t.not(reply.checkpoint_id, before.checkpoint_id);
    const { messages } = (await send('GET', `/v1/threads/${id}/messages`)).body.data as { messages: unknown[] };
    t.is(messages.length, 2);
  });

test('a state that is read and sent back whole is taken and changes nothing, however often', async (t) => {
  const before = await noted('whole');
  const thread = async (): Promise<unknown> => (await send('GET', '/v1/threads/whole')).body.data;
  const details = await thread();
  t.deepEqual(await data(t, 'updateState', replace('whole', before.state, before.checkpoint_id)), before as never);
  t.deepEqual(await data(t, 'updateState', replace('whole', before.state, before.checkpoint_id)), before as never);
  t.deepEqual(await read('whole'), before);
  t.deepEqual(await thread(), details, 'it made no checkpoint');
  const merged: Read = await data(
    t,
    'updateState',
    send('POST', pathOf('whole'), { config: {}, state: { notes: ['c'] } }),
  );
  t.deepEqual(merged.state['notes'], ['a', 'b', 'c'], 'without a mode the reducer has it');
});

test('one member of a whole state that was changed is the one that is written', async (t) => {
  const { state, checkpoint_id: checkpoint } = await noted('member');
  const reply: Read = await data(t, 'updateState', replace('member', { ...state, rounds: 9 }, checkpoint));
  t.deepEqual(reply.state, { ...state, rounds: 9 });
  const summary: Read = await data(
    t,
    'updateState',
    replace('member', { ...reply.state, context_summary: 'in short' }, reply.checkpoint_id),
  );
  t.deepEqual(summary.state, { ...reply.state, context_summary: 'in short' });
});

test('of two replacements of what both have read one is made, and the other is 409', async (t) => {
  const { checkpoint_id: checkpoint } = await noted('race');
  const replies = await Promise.all([
    replace('race', { notes: ['x'] }, checkpoint),
    replace('race', { notes: ['y'] }, checkpoint),
  ]);
  t.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409]);
});

test('a replacement of a state that has moved on is 409, also after messages and by another checkpoint', async (t) => {
  const { state, checkpoint_id: checkpoint } = await noted('moved');
  await send('POST', '/v1/threads/moved/messages', { messages: [user('more')] });
  await refused(t, replace('moved', state, checkpoint), 409, codeOf(409));
  const now = await read('moved');
  for (const other of [checkpoint, '0', 'x', '9'.repeat(30)])
    await refused(t, replace('moved', {}, other), 409, codeOf(409));
  t.deepEqual(await read('moved'), now);
  const merge = { config: {}, state: { notes: ['c'] }, checkpoint_id: checkpoint };
  await refused(t, send('POST', pathOf('moved'), merge), 409, codeOf(409));
  t.is((await send('POST', pathOf('moved'), { ...merge, checkpoint_id: Number(now.checkpoint_id) })).status, 200);
});

test('the same replacement under its key is made once, and gets its reply after the thread has moved on', async (t) => {
  const { checkpoint_id: checkpoint } = await noted('keyed');
  const body = { config: {}, state: { notes: ['once'] }, mode: 'replace', checkpoint_id: checkpoint };
  const key = { 'idempotency-key': 'replace-keyed' };
  t.is((await send('POST', pathOf('keyed'), body, key)).status, 200);
  t.is((await send('POST', pathOf('keyed'), body, key)).status, 200);
  t.deepEqual((await read('keyed')).state['notes'], ['once']);
});

for (const [what, more, loc] of [
  ['no checkpoint', { mode: 'replace' }, ['body', 'checkpoint_id']],
  ['a mode of no list', { mode: 'overwrite', checkpoint_id: '1' }, ['body', 'mode']],
  ['a field that nobody declares', { mode: 'replace', state: { other: 1 } }, ['body', 'state', 'other']],
  ['a field of another type', { mode: 'replace', state: { rounds: 'many' } }, ['body', 'state', 'rounds']],
  ['a value that no reducer makes', { mode: 'replace', state: { notes: 'a' } }, ['body', 'state', 'notes']],
  ['another context', { mode: 'replace', state: { context: [] } }, ['body', 'state', 'context']],
] as const)
  test(`${what} in a replacement is 422 and named`, async (t) => {
    const id = `unfit-${what.replaceAll(' ', '-')}`;
    await thread(id);
    const { checkpoint_id: checkpoint } = await read(id);
    const at = what === 'no checkpoint' ? {} : { checkpoint_id: checkpoint };
    const body = { config: {}, state: {}, ...at, ...more };
    t.deepEqual(await refused(t, send('POST', pathOf(id), body), 422, codeOf(422)), [[...loc]]);
  });

test('while a run holds the thread nothing is replaced, also where nothing would change', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'held', gate: gate.url };
  const run = gated.send('POST', '/v1/graph/invoke', { messages: [user('go')], config });
  await gate.visited(1);
  const { state, checkpoint_id: checkpoint } = (await gated.send('GET', pathOf('held'))).body.data as Read;
  const body = { config: {}, state, mode: 'replace', checkpoint_id: checkpoint };
  await refused(t, gated.send('POST', pathOf('held'), body), 409, codeOf(409));
  gate.open();
  t.is((await run).status, 200);
});
