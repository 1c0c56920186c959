import test from 'ava';
import { until } from '../../until.ts';
import { modern, serveMcp, tasks } from './service.ts';

const service = serveMcp(test);
const { call, send } = service;

type Fields = Readonly<Record<string, unknown>>;

const get = (taskId: unknown): Promise<Fields> => call('tasks/get', { taskId }, tasks);

async function untilStatus(taskId: unknown, status: string): Promise<Fields> {
  await until(async () => (await get(taskId))['status'] === status);
  return get(taskId);
}

const asked = ({ inputRequests }: Fields): readonly (readonly [key: string, message: unknown])[] =>
  Object.entries(inputRequests as Readonly<Record<string, { readonly params: Fields }>>).map(([key, { params }]) => [
    key,
    params['message'],
  ]);

const firstOf = (task: Fields): readonly [key: string, message: unknown] => asked(task)[0] ?? ['', undefined];

const accepted = { action: 'accept', content: { confirm: true } };

test('an answer to a task that is sent again answers no later question of the same key', async (t) => {
  const { taskId } = await call('tools/call', { name: 'delete_three', arguments: {} }, tasks);
  t.deepEqual(asked(await untilStatus(taskId, 'input_required')), [['confirm', 'Delete A?']]);
  const again = { taskId, inputResponses: { confirm: accepted } };
  await call('tasks/update', again, tasks);
  await until(async () => asked(await untilStatus(taskId, 'input_required'))[0]?.[1] === 'Delete B?');
  const [key, message] = firstOf(await get(taskId));
  t.is(message, 'Delete B?');
  t.not(key, 'confirm');
  for (let time = 0; time < 3; time += 1)
    t.deepEqual(await call('tasks/update', again, tasks), { resultType: 'complete' });
  t.deepEqual(asked(await get(taskId)), [[key, 'Delete B?']]);
  await call('tasks/update', { taskId, inputResponses: { [key]: accepted } }, tasks);
  await until(async () => asked(await untilStatus(taskId, 'input_required'))[0]?.[1] === 'Delete C?');
  const [last] = firstOf(await get(taskId));
  t.is(new Set(['confirm', key, last]).size, 3);
  await call('tasks/update', { taskId, inputResponses: { [last]: accepted } }, tasks);
  t.like((await untilStatus(taskId, 'completed'))['result'], { content: [{ text: 'all were asked' }] });
});

test('a task that is asked often is read to its end', async (t) => {
  const { taskId } = await call('tools/call', { name: 'delete_many', arguments: {} }, tasks);
  for (let turn = 1; turn <= 8; turn += 1) {
    await until(async () => asked(await untilStatus(taskId, 'input_required'))[0]?.[1] === `Delete ${String(turn)}?`);
    const [key] = firstOf(await get(taskId));
    await call('tasks/update', { taskId, inputResponses: { [key]: accepted } }, tasks);
  }
  t.like((await untilStatus(taskId, 'completed'))['result'], { content: [{ text: 'all were asked' }] });
});

test('a task whose question is cancelled stays so: no client of any protocol answers it', async (t) => {
  const { taskId } = await call('tools/call', { name: 'confirm_delete', arguments: {} }, tasks);
  await untilStatus(taskId, 'input_required');
  const reply = await fetch(`${service.url()}/v1/runs/${String(taskId)}`);
  const { data } = (await reply.json()) as { readonly data: { readonly thread_id: string } };
  await call('tasks/cancel', { taskId }, tasks);
  t.is((await get(taskId))['status'], 'cancelled');
  const config = { agent: 'conforming', thread_id: data.thread_id };
  const resumed = await fetch(`${service.url()}/v1/runs`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ resume: accepted, config }),
  });
  t.is(resumed.status, 400);
  const { message, headers } = modern(
    'tools/call',
    { name: 'confirm_delete', arguments: {}, requestState: taskId },
    tasks,
  );
  t.like((await send(message, headers)).messages.at(-1), { error: { code: -32_602 } });
  t.is((await get(taskId))['status'], 'cancelled');
});

test('a run that stands before a node asks nothing', async (t) => {
  const started = await fetch(`${service.url()}/v1/runs`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'hello' }],
      ...{ interrupt_before: ['confirm'], config: { agent: 'typing' } },
    }),
  });
  const { data } = (await started.json()) as { readonly data: { readonly run_id: string } };
  const task = await untilStatus(data.run_id, 'completed');
  t.like(task['result'], { isError: true });
});

test.serial('a task whose client leaves before it has its id is stopped', async (t) => {
  const { message, headers } = modern('tools/call', { name: 'slow_compute', arguments: { seconds: 60 } }, tasks);
  const controller = new AbortController();
  const sent = fetch(`${service.url()}/mcp`, {
    ...{ method: 'POST', body: JSON.stringify(message), signal: controller.signal },
    headers: { 'content-type': 'application/json', ...headers },
  });
  const running = async (status: string): Promise<number> => {
    const reply = await fetch(`${service.url()}/v1/runs?agent=conforming&status=${status}`);
    return ((await reply.json()) as { readonly data: { readonly runs: readonly unknown[] } }).data.runs.length;
  };
  const before = await running('stopped');
  await until(async () => (await running('running')) === 1);
  controller.abort();
  await t.throwsAsync(sent);
  await until(async () => (await running('stopped')) === before + 1);
  t.is(await running('running'), 0);
});
