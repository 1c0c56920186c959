import type { Run } from '@langchain/langgraph-sdk';
import test from 'ava';
import { until } from '../../until.ts';
import { graphId, ownId, refused, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const threads = () => service.client().threads;
const runs = () => service.client().runs;
const nobody = '00000000-0000-4000-8000-000000000000';

const sending = (text: string) => ({ input: { messages: [{ role: 'user', content: text }] } });
const textsOf = (values: unknown): unknown[] =>
  (values as { messages: readonly { content: unknown }[] }).messages.map(({ content }) => content);

const makeThread = async (): Promise<string> => (await threads().create({ graphId })).thread_id;

test('a run is accepted, read, joined and listed', async (t) => {
  const id = await makeThread();
  let created: unknown;
  const run = await runs().create(id, graphId, {
    ...sending('hello'),
    metadata: { purpose: 'test' },
    config: { configurable: { tone: 'dry' } },
    onRunCreated: (params) => {
      created = params;
    },
  });
  t.deepEqual(created, { run_id: run.run_id, thread_id: id });
  t.like(run, {
    thread_id: id,
    assistant_id: ownId,
    multitask_strategy: 'enqueue',
    metadata: { purpose: 'test', graph_id: graphId },
  });
  t.true(['pending', 'running'].includes(run.status));
  t.like((run as Run & { kwargs: object }).kwargs, {
    ...sending('hello'),
    config: { configurable: { tone: 'dry', thread_id: id } },
  });
  t.deepEqual(textsOf(await runs().join(id, run.run_id)), ['hello', 'pale blue sky over hills']);
  const read = await runs().get(id, run.run_id);
  t.deepEqual({ ...read, status: run.status, updated_at: run.updated_at }, run);
  t.deepEqual(await runs().list(id), [read]);
  t.like(await runs().get(id, run.run_id), { run_id: run.run_id, status: 'success', assistant_id: ownId });
  t.deepEqual(
    (await runs().list(id, { status: 'success' })).map(({ run_id: each }) => each),
    [run.run_id],
  );
  t.deepEqual(await runs().list(id, { status: 'error' }), []);
  t.deepEqual((await runs().list(id, { select: ['status'] })) as object[], [{ status: 'success' }]);
  await refused(t, runs().get(await makeThread(), run.run_id), 404);
  await refused(t, runs().get(id, nobody), 404);
  t.regex(await refused(t, runs().delete(id, run.run_id), 422), /cannot be deleted by itself/);
});

test('a run that is waited for gives the values, or why it failed', async (t) => {
  const id = await makeThread();
  const reply = await service.send('POST', `/threads/${id}/runs/wait`, { assistant_id: ownId, ...sending('hello') });
  t.is(reply.headers.get('location'), `${reply.headers.get('content-location') ?? ''}/join`);
  t.deepEqual(textsOf(reply.body), ['hello', 'pale blue sky over hills']);
  await t.throwsAsync(runs().wait(id, graphId, sending('fail now')), { message: /failed|planned/ });
  const failed = (await runs().wait(id, graphId, { ...sending('fail'), raiseError: false })) as { __error__?: object };
  t.deepEqual(Object.keys(failed.__error__ ?? {}), ['error', 'message']);
  t.like(await threads().get(id), { status: 'error' });
});

test('a run names its thread and its assistant, or is refused as LangGraph Server refuses it', async (t) => {
  const id = await makeThread();
  t.is(await refused(t, runs().wait(nobody, graphId, sending('x')), 404), 'Thread or assistant not found.');
  t.regex(await refused(t, runs().wait(id, 'nobody', sending('x')), 422), /^Invalid assistant: 'nobody'/);
  await refused(t, runs().wait(id, nobody, sending('x')), 404);
  await refused(t, runs().create(id, graphId, { ...sending('x'), multitaskStrategy: 'later' as never }), 422);
  const bad = await service.send('POST', `/threads/${id}/runs/wait`, '{"assistant_id":');
  t.deepEqual([bad.status, bad.body], [422, { detail: 'Invalid JSON in request body' }]);
  const fresh = '22222222-2222-4222-8222-222222222222';
  t.deepEqual(textsOf(await runs().wait(fresh, graphId, { ...sending('x'), ifNotExists: 'create' })), [
    'x',
    'pale blue sky over hills',
  ]);
  t.like((await threads().get(fresh)).metadata, { graph_id: graphId, assistant_id: ownId });
  const config = { configurable: { thread_id: id } };
  await runs().wait(fresh, graphId, { ...sending('y'), config });
  t.like(await threads().get(id), { values: null as never }, 'the path alone says which thread it is');
});

test('what cannot be done is refused by name', async (t) => {
  const id = await makeThread();
  const named = async (name: string, payload: object): Promise<void> => {
    t.true((await refused(t, runs().create(id, graphId, { ...sending('x'), ...payload }), 422)).includes(name), name);
  };
  await named('feedback_keys', { feedbackKeys: ['stars'] });
  await named('command.goto', { input: undefined, command: { goto: 'gate' } });
  await named('command', { command: { resume: 'yes' } });
  await named('checkpoint_ns', { checkpoint: { checkpoint_id: '1', checkpoint_ns: 'sub' } });
  await named('langsmith_tracer', { _langsmithTracer: { projectName: 'x' } });
  await named('webhook', { webhook: '/local' });
});

test('runs of one thread wait, are refused, or take the place of the one under way', async (t) => {
  const id = await makeThread();
  const slow = await runs().create(id, graphId, sending('slow one'));
  t.is(
    await refused(t, runs().create(id, graphId, { ...sending('x'), multitaskStrategy: 'reject' }), 409),
    'Thread is already running a task. Wait for it to finish or choose a different multitask strategy.',
  );
  const queued = await runs().create(id, graphId, sending('two'));
  t.is(queued.status, 'pending');
  t.is((await threads().get(id)).status, 'busy');
  const reply = await service.send('POST', `/threads/${id}/runs/${slow.run_id}/cancel?wait=1&action=interrupt`);
  t.deepEqual([reply.status, reply.body], [200, {}]);
  t.is((await runs().get(id, slow.run_id)).status, 'interrupted');
  await runs().join(id, queued.run_id);
  t.deepEqual(textsOf(await runs().join(id, slow.run_id)).slice(0, 1), ['slow one']);
  t.regex(await refused(t, runs().cancel(id, queued.run_id, false, 'rollback'), 422), /action/);
});

test('several runs are cancelled by id, and by status', async (t) => {
  const id = await makeThread();
  const one = await runs().create(id, graphId, sending('slow one'));
  await runs().cancelMany({ threadId: id, runIds: [one.run_id] });
  t.is((await runs().get(id, one.run_id)).status, 'interrupted');
  await runs().create(id, graphId, sending('slow two'));
  await runs().create(id, graphId, sending('slow three'));
  await runs().cancelMany({ threadId: id, status: 'all' });
  t.deepEqual(
    (await runs().list(id)).map(({ status }) => status),
    ['interrupted', 'interrupted', 'interrupted'],
  );
  await refused(t, runs().cancelMany({ threadId: id, runIds: [nobody] }), 404);
});

test('a run without a thread has one of its own', async (t) => {
  t.deepEqual(textsOf(await runs().wait(null, graphId, sending('one off'))), ['one off', 'pale blue sky over hills']);
  const run = await runs().create(null, graphId, { ...sending('alone'), onCompletion: 'keep' as never });
  t.deepEqual(textsOf(await runs().join(run.thread_id, run.run_id)), ['alone', 'pale blue sky over hills']);
  const batch = await runs().createBatch([
    { assistantId: graphId, ...sending('b1') },
    { assistantId: ownId, ...sending('b2') },
  ]);
  t.is(new Set(batch.map(({ thread_id: id }) => id)).size, 2);
  for (const { thread_id: id, run_id: runId } of batch) t.is(textsOf(await runs().join(id, runId)).length, 2);
});

test('a run stops before and after nodes, and goes on without input', async (t) => {
  const id = await makeThread();
  const stopped = await runs().wait(id, graphId, { ...sending('hello'), interruptBefore: ['gate'] });
  t.false('__interrupt__' in stopped);
  t.like(await threads().getState(id), { next: ['gate'], tasks: [{ name: 'gate', interrupts: [] }] });
  await runs().wait(id, graphId, { input: null });
  t.deepEqual((await threads().getState(id)).next, []);
  await refused(t, runs().wait(id, graphId, { ...sending('x'), interruptAfter: ['nowhere'] }), 422);
});

test('a run begins at an earlier checkpoint', async (t) => {
  const id = await makeThread();
  await runs().wait(id, graphId, sending('one'));
  const { checkpoint } = await threads().getState(id);
  await runs().wait(id, graphId, sending('two'));
  const other = await runs().wait(id, graphId, { ...sending('other'), checkpoint });
  t.deepEqual(textsOf(other), ['one', 'pale blue sky over hills', 'other', 'pale blue sky over hills']);
});

test('a run starts later', async (t) => {
  const id = await makeThread();
  const later = await runs().create(id, graphId, { ...sending('later'), afterSeconds: 3600 });
  t.is(later.status, 'pending');
  // Its times are those of the record.
  const { created_at: _c, updated_at: _u, ...shown } = later;
  t.like(await runs().get(id, later.run_id), shown);
  const office = await service.client().assistants.create({ graphId: 'office' });
  const other = { ...sending('x'), afterSeconds: 3600, metadata: { graph_id: 'no graph' } };
  const ofOffice = await runs().create(id, office.assistant_id, other);
  t.like(ofOffice, { assistant_id: office.assistant_id, metadata: { graph_id: 'office' } });
  t.like(await runs().get(id, ofOffice.run_id), { assistant_id: office.assistant_id, metadata: ofOffice.metadata });
  await runs().cancel(id, later.run_id, true);
  t.is((await runs().get(id, later.run_id)).status, 'interrupted');
});

test('an assistant gives its config and context to its runs', async (t) => {
  const assistant = await service.client().assistants.create({ graphId, config: { configurable: { tone: 'dry' } } });
  const id = await makeThread();
  const run = await runs().create(id, assistant.assistant_id, sending('hello'));
  t.is(run.assistant_id, assistant.assistant_id);
  t.is((await runs().get(id, run.run_id)).assistant_id, assistant.assistant_id);
  t.deepEqual(textsOf(await runs().join(id, run.run_id)).length, 2);
});

test('a run of long ago is joined with the values that it left', async (t) => {
  const id = await makeThread();
  const first = await runs().create(id, graphId, sending('first'));
  await runs().join(id, first.run_id);
  for (let turn = 0; turn < 12; turn += 1) await runs().wait(id, graphId, sending(`turn ${String(turn)}`));
  t.deepEqual(textsOf(await runs().join(id, first.run_id)), ['first', 'pale blue sky over hills']);
});

test('a run shows its command and its strategy, and what was too large for the record by name', async (t) => {
  const id = await makeThread();
  await runs().wait(id, graphId, sending('ask'));
  const answered = await runs().create(id, graphId, { command: { resume: 'yes' }, multitaskStrategy: 'reject' });
  await runs().join(id, answered.run_id);
  t.like(await runs().get(id, answered.run_id), {
    multitask_strategy: 'reject',
    kwargs: { input: null, command: { resume: 'yes' } },
  });
  const large = 'x'.repeat(100 * 1024);
  const run = await runs().create(id, graphId, { ...sending(large), metadata: { size: 'large' } });
  await runs().join(id, run.run_id);
  t.like((run as Run & { kwargs: object }).kwargs, sending(large));
  t.like(await runs().get(id, run.run_id), {
    metadata: { size: 'large' },
    kwargs: { input: null, left_out: ['input'] },
  });
  t.is(textsOf((await threads().get(id)).values).at(-2), large);
});

test('an id that is none is refused in the words of LangGraph Server', async (t) => {
  const text = 'Invalid thread ID: must be a UUID';
  for (const ifNotExists of ['reject', 'create'] as const) {
    t.is(await refused(t, runs().create('abc', graphId, { ...sending('x'), ifNotExists }), 422), text);
    t.is(await refused(t, runs().wait('abc', graphId, { ...sending('x'), ifNotExists }), 422), text);
  }
  t.is(await refused(t, runs().list('abc'), 422), text);
  t.is(await refused(t, runs().get('abc', nobody), 422), text);
  t.is(await refused(t, runs().get(await makeThread(), 'abd'), 422), 'Invalid run ID: must be a UUID');
  const { body } = await service.send('POST', '/threads/abc/commands', {
    ...{ id: 1, method: 'run.start', params: { assistant_id: graphId, ...sending('x') } },
  });
  t.like(body, { type: 'error', message: text });
});

test('a run whose place another takes by rollback is gone, whether it has begun or not', async (t) => {
  const id = await makeThread();
  const slow = await runs().create(id, graphId, sending('slow'));
  await until(async () => (await runs().get(id, slow.run_id)).status === 'running');
  const next = await runs().create(id, graphId, { ...sending('hello'), multitaskStrategy: 'rollback' });
  t.deepEqual(textsOf(await runs().join(id, next.run_id)), ['hello', 'pale blue sky over hills']);
  t.deepEqual(
    (await runs().list(id)).map(({ run_id: each }) => each),
    [next.run_id],
  );
  t.is(await refused(t, runs().get(id, slow.run_id), 404), 'Not Found');
  await refused(t, runs().join(id, slow.run_id), 404);
  const again = await runs().create(id, graphId, sending('slow'));
  const last = await runs().create(id, graphId, { ...sending('bye'), multitaskStrategy: 'interrupt' });
  await runs().join(id, last.run_id);
  t.deepEqual(
    (await runs().list(id)).map(({ run_id: each }) => each),
    [last.run_id, again.run_id, next.run_id],
  );
});
