import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TaskState, type StreamResponse, type Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import test from 'ava';
import { until } from '../../until.ts';
import { asTask, bindings, readAll, saying, serveA2a, textsOf } from './service.ts';

const service = serveA2a(test, { WEBHOOK_NETWORKS: '127.0.0.0/8' });

const atOnce = {
  ...{ acceptedOutputModes: [], taskPushNotificationConfig: undefined },
  ...{ historyLength: undefined, returnImmediately: true },
};

const begin = async (client: Client, text: string): Promise<Task> =>
  asTask(await client.sendMessage({ ...saying(text), configuration: atOnce }));

const listing = (more: object) => ({
  ...{ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: undefined, pageToken: '' },
  ...{ historyLength: undefined, statusTimestampAfter: undefined, includeArtifacts: undefined },
  ...more,
});

/** How a question comes to have no answer. */
const drops = {
  cancelled: (client: Client, { id }: Task) => client.cancelTask({ tenant: '', id, metadata: undefined }),
  'passed over': (client: Client, { contextId }: Task) => client.sendMessage(saying('hello', { contextId })),
} as const;

const stateOf = (task: Task): TaskState | undefined => task.status?.state;

test('a task is subscribed to by POST, as the specification says, and by GET, as its proto does', async (t) => {
  const client = await service.client('typing');
  const task = await begin(client, 'hello');
  const [byPost, byGet] = await Promise.all(
    ['POST', 'GET'].map(async (method) => {
      const headers = { 'a2a-version': '1.0' };
      const reply = await fetch(`${service.url()}/a2a/typing/tasks/${task.id}:subscribe`, { method, headers });
      return (await reply.text())
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .slice(1);
    }),
  );
  t.true((byGet?.length ?? 0) > 3);
  t.deepEqual(byGet, byPost);
});

for (const binding of bindings) {
  test(`a task that works is cancelled, and one that has ended is not: ${binding}`, async (t) => {
    const client = await service.client('typing', binding);
    const task = await begin(client, 'hello');
    const cancelled = await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    t.is(stateOf(cancelled), TaskState.TASK_STATE_CANCELED);
    const again = client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    await t.throwsAsync(again, { instanceOf: TaskNotCancelableError });
    const absent = client.cancelTask({ tenant: '', id: crypto.randomUUID(), metadata: undefined });
    await t.throwsAsync(absent, { instanceOf: TaskNotFoundError });
  });

  test(`a task that asks is cancelled, and takes no answer any more: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    const asked = asTask(await client.sendMessage(saying('ask')));
    const cancelled = await client.cancelTask({ tenant: '', id: asked.id, metadata: undefined });
    t.is(stateOf(cancelled), TaskState.TASK_STATE_CANCELED);
    t.is(stateOf(await client.getTask({ tenant: '', id: asked.id, historyLength: 0 })), TaskState.TASK_STATE_CANCELED);
    const late = client.sendMessage(saying('yes', { taskId: asked.id }));
    await t.throwsAsync(late, { instanceOf: UnsupportedOperationError });
    const next = asTask(await client.sendMessage(saying('hello', { contextId: asked.contextId })));
    t.is(stateOf(next), TaskState.TASK_STATE_COMPLETED);
  });

  test(`a subscriber reads a task from its beginning, over its question to its end: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    const asked = asTask(await client.sendMessage(saying('ask')));
    const read = readAll(client.resubscribeTask({ tenant: '', id: asked.id }));
    await client.sendMessage(saying('yes', { taskId: asked.id }));
    const payloads = await read;
    t.is(payloads[0]?.$case, 'task');
    const states = payloads.flatMap((each) => (each.$case === 'statusUpdate' ? [each.value.status?.state] : []));
    t.true(states.includes(TaskState.TASK_STATE_INPUT_REQUIRED));
    t.is(states.at(-1), TaskState.TASK_STATE_COMPLETED);
    t.is(payloads.filter(({ $case }) => $case === 'task').length, 1);
    const ended = readAll(client.resubscribeTask({ tenant: '', id: asked.id }));
    await t.throwsAsync(ended);
  });

  for (const ending of ['cancelled', 'passed over'] as const)
    test(`a subscriber gets the end of a task whose question is ${ending}: ${binding}`, async (t) => {
      const client = await service.client('recorded', binding);
      const asked = asTask(await client.sendMessage(saying('ask')));
      const stream = client.resubscribeTask({ tenant: '', id: asked.id })[Symbol.asyncIterator]();
      const first = ((await stream.next()) as { value: StreamResponse }).value.payload;
      t.is(first?.$case === 'task' ? stateOf(first.value) : undefined, TaskState.TASK_STATE_INPUT_REQUIRED);
      const rest = readAll({ [Symbol.asyncIterator]: () => stream });
      if (ending === 'cancelled') await client.cancelTask({ tenant: '', id: asked.id, metadata: undefined });
      else await client.sendMessage(saying('hello', { contextId: asked.contextId }));
      const last = (await rest).at(-1);
      t.is(last?.$case === 'statusUpdate' ? last.value.status?.state : undefined, TaskState.TASK_STATE_CANCELED);
    });

  test(`a context that has no thread has no tasks: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    t.like(await client.listTasks(listing({ contextId: crypto.randomUUID() })), { tasks: [], totalSize: 0 });
  });

  test(`tasks are listed by context and by state, the newest first, in pages: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    const first = asTask(await client.sendMessage(saying('ask')));
    const { contextId } = first;
    await client.sendMessage(saying('yes', { taskId: first.id }));
    const second = asTask(await client.sendMessage(saying('hello', { contextId })));
    const third = asTask(await client.sendMessage(saying('ask', { contextId })));
    const all = await client.listTasks(listing({ contextId }));
    t.deepEqual(
      all.tasks.map(({ id }) => id),
      [third.id, second.id, first.id],
    );
    t.is(all.totalSize, 3);
    t.true(all.tasks.every(({ artifacts }) => artifacts.length === 0));
    const waiting = await client.listTasks(listing({ contextId, status: TaskState.TASK_STATE_INPUT_REQUIRED }));
    t.deepEqual(
      waiting.tasks.map(({ id }) => id),
      [third.id],
    );
    const whole = await client.listTasks(listing({ contextId, includeArtifacts: true }));
    t.is(textsOf(whole.tasks[2] ?? first).at(-1), 'you said yes');
    const ids: string[] = [];
    for (let pageToken = '', pages = 0; pages === 0 || pageToken !== ''; pages++) {
      const page = await client.listTasks(listing({ contextId, pageSize: 1, pageToken }));
      t.true(page.tasks.length <= 1);
      t.is(page.totalSize, 3);
      ids.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    }
    t.deepEqual(ids, [third.id, second.id, first.id]);
    const own = await client.listTasks(listing({ status: TaskState.TASK_STATE_COMPLETED, pageSize: 100 }));
    t.true(own.tasks.some(({ id }) => id === first.id));
    t.false(own.tasks.some(({ id }) => id === third.id));
    t.deepEqual((await client.listTasks(listing({ status: TaskState.TASK_STATE_REJECTED }))).tasks, []);
  });

  test(`each end of a task is pushed to the addresses that it has, over its question: ${binding}`, async (t) => {
    const received: { readonly headers: Record<string, unknown>; readonly body: unknown }[] = [];
    const receiver = createServer((request, reply) => {
      let text = '';
      request.on('data', (data: Buffer) => (text += data.toString()));
      request.on('end', () => {
        received.push({ headers: request.headers, body: JSON.parse(text) });
        reply.end();
      });
    });
    receiver.listen(0, '127.0.0.1');
    t.teardown(() => receiver.close());
    await until(() => receiver.listening);
    const url = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}/hook`;
    const client = await service.client('recorded', binding);
    const config = {
      ...{ tenant: '', id: 'mine', taskId: '', url, token: 'a token' },
      authentication: { scheme: 'Bearer', credentials: 'a secret' },
    };
    const configuration = { ...atOnce, returnImmediately: false, taskPushNotificationConfig: config };
    const asked = asTask(await client.sendMessage({ ...saying('ask'), configuration }));
    const { id: taskId, contextId } = asked;
    await until(() => received.length === 1);
    t.like(received[0]?.body, {
      statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
    });
    t.like(received[0]?.headers, { 'x-a2a-notification-token': 'a token', authorization: 'Bearer a secret' });
    t.is(received[0]?.headers['content-type'], 'application/a2a+json');

    const other = await client.createTaskPushNotificationConfig({ ...config, id: '', taskId, token: 'other' });
    t.not(other.id, '');
    const { configs } = await client.listTaskPushNotificationConfig({
      ...{ tenant: '', taskId, pageSize: 0, pageToken: '' },
    });
    t.deepEqual(
      configs.map(({ token }) => token),
      ['a token', 'other'],
    );
    const same = await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: other.id });
    t.deepEqual(same, other);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'mine' });
    await t.throwsAsync(client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'mine' }));
    await client.sendMessage(saying('yes', { taskId }));
    await until(() => received.length === 2);
    t.like(received[1]?.body, { statusUpdate: { taskId, status: { state: 'TASK_STATE_COMPLETED' } } });
    t.is(received[1]?.headers['x-a2a-notification-token'], 'other');
  });

  for (const [how, drop] of Object.entries(drops))
    test(`a question that is ${how} is pushed as the end of its task: ${binding}`, async (t) => {
      const received: unknown[] = [];
      const receiver = createServer((request, reply) => {
        let text = '';
        request.on('data', (data: Buffer) => (text += data.toString()));
        request.on('end', () => {
          received.push(JSON.parse(text));
          reply.end();
        });
      });
      receiver.listen(0, '127.0.0.1');
      t.teardown(() => receiver.close());
      await until(() => receiver.listening);
      const url = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}/hook`;
      const client = await service.client('recorded', binding);
      const config = { tenant: '', id: 'mine', taskId: '', url, token: '', authentication: undefined };
      const configuration = { ...atOnce, returnImmediately: false, taskPushNotificationConfig: config };
      const asked = asTask(await client.sendMessage({ ...saying('ask'), configuration }));
      await until(() => received.length === 1);
      await drop(client, asked);
      await until(() => received.length === 2);
      const { id: taskId, contextId } = asked;
      t.like(received[1], { statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_CANCELED' } } });
      const read = await client.getTask({ tenant: '', id: taskId, historyLength: undefined });
      t.is(read.status?.state, TaskState.TASK_STATE_CANCELED);
    });

  test(`an address that may not be reached is refused: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    const { id: taskId } = asTask(await client.sendMessage(saying('ask')));
    for (const url of ['http://10.0.0.1/x', 'ftp://example.com', 'nothing']) {
      const config = { tenant: '', id: '', taskId, url, token: '', authentication: undefined };
      await t.throwsAsync(client.createTaskPushNotificationConfig(config), { message: /url/ });
    }
    const bad = { tenant: '', id: '', taskId, url: 'http://127.0.0.1:9/', token: '\u0007', authentication: undefined };
    await t.throwsAsync(client.createTaskPushNotificationConfig(bad), { message: /visible ASCII/ });
  });

  test(`a task that has ended takes no address: ${binding}`, async (t) => {
    const client = await service.client('obedient', binding);
    const { id: taskId } = asTask(await client.sendMessage(saying('hello')));
    const config = { tenant: '', id: '', taskId, url: 'http://127.0.0.1:9/', token: '', authentication: undefined };
    const made = client.createTaskPushNotificationConfig(config);
    await t.throwsAsync(made, { instanceOf: UnsupportedOperationError });
    const listed = await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    t.deepEqual(listed.configs, []);
  });

  test(`the extended card lists the tools of the agent: ${binding}`, async (t) => {
    const client = await service.client('typing', binding);
    const card = await client.getAgentCard();
    t.deepEqual(
      card.skills.map(({ id }) => id),
      ['typing', 'typing.clock'],
    );
  });
}
