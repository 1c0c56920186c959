import type { Checkpoint, Message } from '@langchain/langgraph-sdk';
import test from 'ava';
import { graphId, ownId, refused, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const threads = () => service.client().threads;
const runs = () => service.client().runs;
const nobody = '00000000-0000-4000-8000-000000000000';

interface Values {
  readonly messages: readonly Message[];
  readonly count: number;
}

const textsOf = (values: unknown): unknown[] => (values as Values).messages.map(({ content }) => content);

const sending = (text: string) => ({ input: { messages: [{ role: 'user', content: text }] } });

test('a thread is made, found, changed, and deleted', async (t) => {
  const made = await threads().create({ graphId, metadata: { project: 'p1' } });
  t.like(made, { status: 'idle', values: null, metadata: { project: 'p1', graph_id: graphId, assistant_id: ownId } });
  const id = made.thread_id;
  t.is(await refused(t, threads().create({ threadId: id }), 409), `Thread with ID ${id} already exists`);
  t.deepEqual(await threads().create({ threadId: id, ifExists: 'do_nothing' }), made);
  t.deepEqual(await threads().get(id), made);
  const changed = await threads().update(id, { metadata: { colour: 'green' }, ttl: 60 });
  t.like(changed.metadata, { project: 'p1', colour: 'green' });
  t.like(await threads().get(id, { include: ['ttl'] }), { ttl: { strategy: 'delete', ttl_minutes: 60 } });
  await threads().update(id, { metadata: {}, returnMinimal: true });
  await threads().delete(id);
  t.is(await refused(t, threads().get(id), 404), `Thread with ID ${id} not found`);
  await refused(t, threads().delete(id), 404);
  t.is(await refused(t, threads().get('not-a-uuid'), 422), 'Invalid thread ID: must be a UUID');
  t.is(await refused(t, threads().create({ threadId: 'not-a-uuid' }), 422), 'Invalid thread ID: must be a UUID');
  await refused(t, threads().create({ ttl: { ttl: 60, strategy: 'keep_latest' as never } }), 422);
});

test('metadata that is null stays as null', async (t) => {
  const { thread_id: id } = await threads().create({ metadata: { a: null, b: 1 } });
  t.deepEqual((await threads().update(id, { metadata: { b: null, c: { d: null } } })).metadata, {
    ...{ a: null, b: null, c: { d: null } },
  });
  t.deepEqual((await threads().search({ ids: [id], metadata: { b: null } })).length, 1);
});

test('the state of an empty thread is empty', async (t) => {
  const { thread_id: id } = await threads().create();
  t.deepEqual((await service.send('GET', `/threads/${id}/state`)).body, {
    ...{ values: {}, next: [], tasks: [], metadata: null, created_at: null, checkpoint: null },
    ...{ parent_checkpoint: null, interrupts: [], checkpoint_id: null, parent_checkpoint_id: null },
  });
  t.deepEqual(await threads().getHistory(id), []);
});

test('a thread begins with the updates of its supersteps', async (t) => {
  const { thread_id: id, values } = await threads().create({
    graphId,
    supersteps: [
      { updates: [{ values: { messages: [{ role: 'user', content: 'seeded' }] }, asNode: '__start__' }] },
      { updates: [{ values: { messages: [{ type: 'ai', content: 'sown' }], count: 2 }, asNode: 'gate' }] },
    ],
  });
  t.deepEqual(textsOf(values), ['seeded', 'sown']);
  t.is((values as unknown as Values).count, 2);
  t.deepEqual(textsOf(await runs().wait(id, graphId, sending('more'))), [
    'seeded',
    'sown',
    'more',
    'pale blue sky over hills',
  ]);
  const steps = [{ updates: [{ values: {}, asNode: 'think' }] }];
  t.regex(await refused(t, threads().create({ graphId, supersteps: steps }), 422), /as_node/);
});

test('a thread that asks a person says what, in its state too, and keeps that in its history', async (t) => {
  const { thread_id: id } = await threads().create({ graphId });
  const asked = (await runs().wait(id, graphId, sending('please ask'))) as { __interrupt__?: { value: unknown }[] };
  t.like(asked.__interrupt__, { 0: { value: { question: 'go on?', options: ['yes', 'no'] } } });
  const thread = await threads().get(id);
  t.is(thread.status, 'interrupted');
  const state = await threads().getState(id);
  t.deepEqual(state.next, ['gate']);
  const [task] = state.tasks;
  t.like(task, { name: 'gate', interrupts: [{ value: { question: 'go on?', options: ['yes', 'no'] } }] });
  t.deepEqual(Object.keys(thread.interrupts), [task?.id ?? '']);
  t.deepEqual((state as unknown as { interrupts: unknown }).interrupts, task?.interrupts as unknown);

  const answered = await runs().wait(id, graphId, { command: { resume: 'yes' } });
  t.like(answered, { answer: 'yes' });
  t.false('__interrupt__' in answered);
  const [newest, ...older] = await threads().getHistory(id);
  t.deepEqual([newest?.next, newest?.tasks], [[], []]);
  const then = older.find(({ checkpoint }) => checkpoint.checkpoint_id === state.checkpoint.checkpoint_id);
  t.deepEqual(then, state);
  t.deepEqual(newest?.parent_checkpoint?.checkpoint_id, older[0]?.checkpoint.checkpoint_id);
  await refused(t, runs().wait(id, graphId, { command: { resume: 'again' } }), 422);
});

test('states are read at a checkpoint by its id and by an object, and in pages before one', async (t) => {
  const { thread_id: id } = await threads().create({ graphId });
  await runs().wait(id, graphId, sending('one'));
  await runs().wait(id, graphId, sending('two'));
  const history = await threads().getHistory(id, { limit: 100 });
  t.true(history.length >= 4);
  const third = history[2];
  const before = history[1]?.checkpoint ?? {};
  t.deepEqual(await threads().getState(id, third?.checkpoint.checkpoint_id ?? ''), third);
  t.deepEqual(await threads().getState(id, third?.checkpoint), third);
  t.deepEqual(await threads().getHistory(id, { limit: 1, before: { configurable: before } }), [third]);
  const byId = await service.send('POST', `/threads/${id}/history`, {
    limit: 1,
    before: (before as { checkpoint_id: string }).checkpoint_id,
  });
  t.deepEqual(byId.body, JSON.parse(JSON.stringify([third])));
  const inputs = await threads().getHistory(id, { limit: 100, metadata: { source: 'input' } });
  t.is(inputs.length, 2);
  const some = (await threads().getState(id, undefined, { select: ['values.count', 'next'] })) as object;
  t.deepEqual(some, { values: { count: 2 }, next: [] });
  await refused(t, threads().getState(id, '1'), 404);
  await refused(t, threads().getState(nobody), 404);
});

test('a state is updated by its reducers, where it stands and at an earlier checkpoint', async (t) => {
  const { thread_id: id } = await threads().create({ graphId });
  await runs().wait(id, graphId, sending('one'));
  const [before] = await threads().getHistory(id, { limit: 1 });
  const updated = await threads().updateState(id, { values: { count: 10 }, asNode: 'gate' });
  t.like(updated, { configurable: { thread_id: id } });
  t.like((await threads().getState(id)).values, { count: 11 });
  await threads().updateState(id, {
    values: { messages: [{ type: 'human', content: 'by hand' }] },
    checkpoint: before?.checkpoint as Checkpoint,
  });
  const state = await threads().getState(id);
  t.like(state.values, { count: 1 });
  t.is(textsOf(state.values).at(-1), 'by hand');
  t.regex(await refused(t, threads().updateState(id, { values: {}, asNode: 'think' }), 422), /as_node/);
  t.regex(await refused(t, threads().updateState(id, { values: {}, asNode: 'nowhere' }), 422), /as_node/);
  await refused(t, threads().updateState(id, { values: { colour: 1 } }), 422);
  await refused(t, threads().updateState(id, { values: 'none' }), 422);
});

test('a thread is copied, and threads are pruned', async (t) => {
  const { thread_id: id } = await threads().create({ graphId, metadata: { copied: 'yes' } });
  await runs().wait(id, graphId, sending('one'));
  const copy = await threads().copy(id);
  t.not(copy.thread_id, id);
  t.like(copy.metadata, { copied: 'yes' });
  t.deepEqual(copy.values, (await threads().get(id)).values);
  t.deepEqual(await threads().prune([copy.thread_id, nobody], { strategy: 'keep_latest' }), { pruned_count: 1 });
  t.is((await threads().getHistory(copy.thread_id)).length, 1);
  t.deepEqual(await threads().prune([copy.thread_id]), { pruned_count: 1 });
  await refused(t, threads().get(copy.thread_id), 404);
});

test('threads are searched and counted by graph, metadata, status and values', async (t) => {
  const metadata = { search: 'threads' };
  const ids: string[] = [];
  for (const text of ['one', 'please ask', 'fail']) {
    const { thread_id: id } = await threads().create({ graphId, metadata });
    await runs().wait(id, graphId, { ...sending(text), raiseError: false });
    ids.push(id);
  }
  t.is(await threads().count({ metadata }), 3);
  t.is(await threads().count({ metadata: { ...metadata, graph_id: graphId } }), 3);
  t.is(await threads().count({ metadata: { ...metadata, assistant_id: ownId } }), 3);
  t.is(await threads().count({ metadata: { ...metadata, graph_id: 'office' } }), 0);
  const statusOf = async (status: 'idle' | 'interrupted' | 'error' | 'busy') =>
    (await threads().search({ metadata, status })).map(({ thread_id: id }) => id);
  t.deepEqual(await statusOf('idle'), [ids[0]]);
  t.deepEqual(await statusOf('interrupted'), [ids[1]]);
  t.deepEqual(await statusOf('error'), [ids[2]]);
  t.deepEqual(await statusOf('busy'), []);
  t.is((await threads().search({ metadata, values: { count: 1 } })).length, 2);
  const page = await service.send('POST', '/threads/search', {
    metadata,
    limit: 2,
    sort_by: 'created_at',
    sort_order: 'asc',
  });
  t.deepEqual([page.headers.get('x-pagination-total'), page.headers.get('x-pagination-next')], ['3', '2']);
  const extract = { last: 'values.messages[-1].content', project: 'metadata.search' };
  const [first] = await threads().search({ ids: [ids[0] ?? ''], select: ['thread_id', 'status'], extract });
  t.deepEqual(first as object, {
    ...{ thread_id: ids[0], status: 'idle' },
    extracted: { last: 'pale blue sky over hills', project: 'threads' },
  });
  const ofField = { count: 'values.count', none: 'values.absent' };
  const [counted] = await threads().search({ ids: [ids[0] ?? ''], select: ['thread_id'], extract: ofField });
  t.deepEqual(counted as object, { thread_id: ids[0], extracted: { count: 1, none: null } });
  const [bare] = await threads().search({ ids: [ids[0] ?? ''], select: ['values'], extract: ofField });
  t.like(bare, { values: { count: 1 }, extracted: { count: 1, none: null } });
  const history = await service.send('POST', `/threads/${ids[0] ?? ''}/history`, { select: ['next', 'checkpoint_id'] });
  for (const state of history.body as object[]) t.deepEqual(Object.keys(state).toSorted(), ['checkpoint_id', 'next']);
  t.true((history.body as object[]).length > 1);
});

test('an update that is refused changes nothing: neither a thread at an older checkpoint, nor one that was to be made', async (t) => {
  const { threads } = service.client();
  const { thread_id: id } = await threads.create({ graphId });
  for (const content of ['one', 'two'])
    await threads.updateState(id, { values: { messages: [{ role: 'user', content }] } });
  const before = await threads.getState(id);
  const older = (await threads.getHistory(id)).at(-1)?.checkpoint.checkpoint_id;
  const refused = await service.send('POST', `/threads/${id}/state`, {
    ...{ checkpoint_id: older, values: { messages: [{ type: 'remove', id: 'x' }] } },
  });
  t.is(refused.status, 422);
  t.deepEqual(await threads.getState(id), before);

  const wanted = '11111111-2222-4333-8444-555555555555';
  const made = (values: unknown) =>
    service.send('POST', '/threads', { thread_id: wanted, supersteps: [{ updates: [{ values }] }] });
  t.is((await made({ messages: 7 })).status, 422);
  t.is((await made({ messages: [{ role: 'user', content: 'hello' }] })).status, 200);
});

test('an update at the newest checkpoint is sent twice with one key and made once', async (t) => {
  const { threads } = service.client();
  const { thread_id: id } = await threads.create({ graphId });
  await threads.updateState(id, { values: { messages: [{ role: 'user', content: 'one' }] } });
  const { checkpoint } = await threads.getState(id);
  const send = () =>
    service.send(
      'POST',
      `/threads/${id}/state`,
      { checkpoint_id: checkpoint.checkpoint_id, values: { messages: [{ role: 'user', content: 'two' }] } },
      { 'idempotency-key': `update-${id}` },
    );
  const [first, second] = [await send(), await send()];
  t.is(first.status, 200);
  t.deepEqual(second.body, first.body);
  t.is((await threads.getHistory(id)).length, 2);
});
