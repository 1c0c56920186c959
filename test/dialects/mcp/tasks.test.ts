import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../../by-load.ts';
import { until } from '../../until.ts';
import { serveMcp, tasks } from './service.ts';

const service = serveMcp(test);
const { call } = service;

type Fields = Readonly<Record<string, unknown>>;

const begin = async (name: string, args: Fields = {}): Promise<string> => {
  const task = await call('tools/call', { name, arguments: args }, tasks);
  return String(task['taskId']);
};

const get = (taskId: string): Promise<Fields> => call('tasks/get', { taskId }, tasks);

const untilStatus = async (taskId: string, status: string): Promise<Fields> => {
  await until(async () => (await get(taskId))['status'] === status);
  return get(taskId);
};

const runOf = async (runId: string): Promise<Fields> => {
  const reply = await fetch(`${service.url()}/v1/runs/${runId}`);
  return ((await reply.json()) as { readonly data: Fields }).data;
};

test('a call that takes long is a task, which is a run of /v1', async (t) => {
  const taskId = await begin('slow_compute', { seconds: 1, label: 'it' });
  t.like(await get(taskId), { taskId, status: 'working', ttlMs: 86_400_000, resultType: 'complete' });
  t.like(await runOf(taskId), { run_id: taskId, status: 'running' });
  const done = await untilStatus(taskId, 'completed');
  t.like(done['result'], { content: [{ type: 'text', text: 'it took 1 s' }] });
});

test('a call that is short has its result at once, and so has one whose client knows no tasks', async (t) => {
  const short = await call('tools/call', { name: 'slow_compute', arguments: { seconds: 0 } }, tasks);
  t.like(short, { resultType: 'complete', content: [{ type: 'text', text: ' took 0 s' }] });
  const waited = await call('tools/call', { name: 'slow_compute', arguments: { seconds: 0.5 } });
  t.like(waited, { resultType: 'complete', content: [{ type: 'text', text: ' took 0.5 s' }] });
});

test('an agent is a task, too, and every run of the caller is one by its id', async (t) => {
  const taskId = await begin('typing', { message: 'hello' });
  const done = await untilStatus(taskId, 'completed');
  t.regex(JSON.stringify(done['result']), /word29/);
  const body = JSON.stringify({
    messages: [{ role: 'user', content: 'are you sure' }],
    config: { agent: 'typing' },
  });
  const headers = { 'content-type': 'application/json' };
  const started = await fetch(`${service.url()}/v1/runs`, { method: 'POST', headers, body });
  const { data } = (await started.json()) as { readonly data: { readonly run_id: string } };
  const waits = await untilStatus(data.run_id, 'input_required');
  const [key = ''] = Object.keys(waits['inputRequests'] as object);
  const inputResponses = { [key]: { action: 'accept', content: { answer: 'yes' } } };
  t.deepEqual(await call('tasks/update', { taskId: data.run_id, inputResponses }, tasks), { resultType: 'complete' });
  const end = await untilStatus(data.run_id, 'completed');
  t.like(end['result'], { content: [{ type: 'text', text: 'you said yes' }] });
});

test('a task keeps its id while it is asked and answered; what is left open is asked still', async (t) => {
  const taskId = await begin('multi_input');
  const waits = await untilStatus(taskId, 'input_required');
  t.deepEqual(Object.keys(waits['inputRequests'] as object).sort(), ['first', 'second']);
  const reply = { action: 'accept', content: { value: 'x' } };
  await call('tasks/update', { taskId, inputResponses: { second: reply } }, tasks);
  const left = await get(taskId);
  t.is(left['status'], 'input_required');
  t.deepEqual(Object.keys(left['inputRequests'] as object), ['first']);
  t.like(await call('tasks/update', { taskId, inputResponses: { first: 5 } }, tasks), { code: -32_602 });
  await call('tasks/update', { taskId, inputResponses: { first: reply, other: reply } }, tasks);
  const done = await untilStatus(taskId, 'completed');
  t.is(done['taskId'], taskId);
});

const isCancelled = async (t: ExecutionContext, taskId: string): Promise<void> => {
  t.deepEqual(await call('tasks/cancel', { taskId }, tasks), { resultType: 'complete' });
  t.is((await untilStatus(taskId, 'cancelled'))['result'], undefined);
  t.deepEqual(await call('tasks/cancel', { taskId }, tasks), { resultType: 'complete' });
};

test('a task that works is stopped within a second, and one that has asked is cancelled and takes no answer', async (t) => {
  const works = await begin('slow_compute', { seconds: 60 });
  const start = performance.now();
  await isCancelled(t, works);
  t.true(performance.now() - start < byLoad(1000));
  t.like(await runOf(works), { status: 'stopped' });
  const waits = await begin('confirm_delete');
  await untilStatus(waits, 'input_required');
  await isCancelled(t, waits);
  const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } };
  await call('tasks/update', { taskId: waits, inputResponses }, tasks);
  t.is((await get(waits))['status'], 'cancelled');
});

test('a tool that fails is a task that is completed, and a fault of the graph one that failed', async (t) => {
  const [fails, breaks] = await Promise.all([begin('failing_job'), begin('protocol_error_job')]);
  t.like((await untilStatus(fails, 'completed'))['result'], { isError: true });
  t.like((await untilStatus(breaks, 'failed'))['error'], { code: -32_603 });
});

test('a task of nobody, and a client that knows no tasks, are refused', async (t) => {
  t.like(await get(crypto.randomUUID()), { code: -32_602 });
  t.like(await get('no/id'), { code: -32_602 });
  t.like(await call('tasks/get', { taskId: 'any' }), { code: -32_021, data: { requiredCapabilities: tasks } });
  t.like(await call('tasks/list', {}, tasks), { code: -32_601 });
});
