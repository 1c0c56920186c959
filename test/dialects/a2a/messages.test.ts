import { TaskState } from '@a2a-js/sdk';
import { TaskNotFoundError, UnsupportedOperationError, VersionNotSupportedError } from '@a2a-js/sdk/errors';
import test from 'ava';
import { asTask, bindings, gathered, readAll, saying, serveA2a, textsOf } from './service.ts';

const service = serveA2a(test);

test('the card of an agent says where and how it is reached, and the default one is that of the default agent', async (t) => {
  const read = async (path: string): Promise<Record<string, unknown>> =>
    (await (await fetch(`${service.url()}${path}/.well-known/agent-card.json`)).json()) as Record<string, unknown>;
  const card = await read('/a2a/recorded');
  t.like(card, { name: 'recorded', capabilities: { streaming: true, extendedAgentCard: true } });
  t.deepEqual(
    card['supportedInterfaces'],
    bindings.map((protocolBinding) => ({
      ...{ url: `${service.url()}/a2a/recorded`, protocolBinding, protocolVersion: '1.0' },
    })),
  );
  t.is((await read(''))['name'], 'obedient');
  const absent = await fetch(`${service.url()}/a2a/nobody/.well-known/agent-card.json`);
  t.is(absent.status, 404);
});

for (const binding of bindings) {
  test(`a message is a task that has ended, and is read again: ${binding}`, async (t) => {
    const client = await service.client('obedient', binding);
    const task = asTask(await client.sendMessage(saying('hello')));
    t.is(task.status?.state, TaskState.TASK_STATE_COMPLETED);
    t.deepEqual(textsOf(task), ['you said hello']);
    t.is(task.history.length, 1);
    const again = await client.getTask({ tenant: '', id: task.id, historyLength: undefined });
    t.deepEqual(again, task);
    const short = await client.getTask({ tenant: '', id: task.id, historyLength: 0 });
    t.deepEqual(short.history, []);
  });

  test(`a stream begins with the task, gives artifacts as they grow, and ends with its state: ${binding}`, async (t) => {
    const client = await service.client('typing', binding);
    const payloads = await readAll(client.sendMessageStream(saying('hello')));
    t.is(payloads[0]?.$case, 'task');
    const last = payloads.at(-1);
    t.is(last?.$case === 'statusUpdate' ? last.value.status?.state : undefined, TaskState.TASK_STATE_COMPLETED);
    const updates = payloads.flatMap((each) => (each.$case === 'artifactUpdate' ? [each.value] : []));
    t.true(updates.length > 2);
    t.false(updates[0]?.append);
    t.true(updates.slice(1).every(({ append }) => append));
    t.deepEqual(
      updates.map(({ lastChunk }) => lastChunk),
      [...updates.slice(1).map(() => false), true],
    );
    const id = updates[0]?.taskId ?? '';
    const task = await client.getTask({ tenant: '', id, historyLength: undefined });
    t.deepEqual(
      [...gathered(payloads)],
      task.artifacts.map((artifact) => [artifact.artifactId, textsOf({ artifacts: [artifact] })[0]]),
    );
  });

  test(`a question is answered in the same task: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    const asked = asTask(await client.sendMessage(saying('ask')));
    t.is(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
    t.deepEqual(
      asked.status?.message?.parts.map(({ content }) => content?.$case),
      ['text', 'data'],
    );
    t.deepEqual(await client.getTask({ tenant: '', id: asked.id, historyLength: undefined }), asked);
    const answer = saying('yes', { taskId: asked.id, contextId: asked.contextId });
    const answered = asTask(await client.sendMessage(answer));
    t.is(answered.id, asked.id);
    t.is(answered.contextId, asked.contextId);
    t.is(answered.status?.state, TaskState.TASK_STATE_COMPLETED);
    t.is(textsOf(answered).at(-1), 'you said yes');
    t.is(answered.history.length, 3);
    t.deepEqual(asTask(await client.sendMessage(answer)), answered);
    const late = saying('no', { taskId: asked.id });
    await t.throwsAsync(client.sendMessage(late), { instanceOf: UnsupportedOperationError });
  });

  test(`the same message again is the same task: ${binding}`, async (t) => {
    const client = await service.client('obedient', binding);
    const message = saying('once');
    const [first, second] = await Promise.all([client.sendMessage(message), client.sendMessage(message)]);
    t.deepEqual(asTask(first), asTask(second));
    t.deepEqual(asTask(await client.sendMessage(message)), asTask(first));
  });

  test(`the same id with other parts is refused, and begins nothing: ${binding}`, async (t) => {
    const client = await service.client('recorded', binding);
    const message = saying('ask');
    const messageId = message.message?.messageId ?? '';
    const asked = asTask(await client.sendMessage(message));
    await t.throwsAsync(client.sendMessage(saying('hello', { messageId })), { message: /was used with other parts/ });
    await t.throwsAsync(readAll(client.sendMessageStream(saying('hello', { messageId }))));
    const answer = saying('yes', { taskId: asked.id });
    await client.sendMessage(answer);
    const other = saying('no', { taskId: asked.id, messageId: answer.message?.messageId ?? '' });
    await t.throwsAsync(client.sendMessage(other), { message: /was used with other parts/ });
    const both = ['one', 'two'].map((text) => client.sendMessage(saying(text, { messageId: `race ${binding}` })));
    const settled = await Promise.allSettled(both);
    t.deepEqual(settled.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  });

  test(`what is wrong is an error of the protocol: ${binding}`, async (t) => {
    const client = await service.client('obedient', binding);
    const absent = client.getTask({ tenant: '', id: crypto.randomUUID(), historyLength: undefined });
    await t.throwsAsync(absent, { instanceOf: TaskNotFoundError });
    await t.throwsAsync(client.sendMessage(saying('x', { taskId: 'none' })), { instanceOf: TaskNotFoundError });
    const other = asTask(await (await service.client('echo', binding)).sendMessage(saying('x')));
    const ofOther = client.getTask({ tenant: '', id: other.id, historyLength: undefined });
    await t.throwsAsync(ofOther, { instanceOf: TaskNotFoundError });
  });
}

test('a message that does not wait is a task under way', async (t) => {
  const client = await service.client('typing');
  const configuration = {
    ...{ acceptedOutputModes: [], taskPushNotificationConfig: undefined },
    ...{ historyLength: undefined, returnImmediately: true },
  };
  const task = asTask(await client.sendMessage({ ...saying('hello'), configuration }));
  t.true(
    [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(
      task.status?.state ?? TaskState.UNRECOGNIZED,
    ),
  );
  // A message to the context of a busy thread is a task that waits for its turn.
  const next = asTask(await client.sendMessage(saying('again', { contextId: task.contextId })));
  t.is(next.contextId, task.contextId);
  t.not(next.id, task.id);
  t.is(next.status?.state, TaskState.TASK_STATE_COMPLETED);
});

for (const binding of bindings)
  test(`what an agent that says nothing has come to is data, whole and streamed: ${binding}`, async (t) => {
    const client = await service.client('obedient', binding);
    const task = asTask(await client.sendMessage(saying('rounds 2')));
    t.deepEqual(
      task.artifacts.map(({ name, parts }) => [name, parts[0]?.content?.value as unknown]),
      [['state', { rounds: 2, notes: [] }]],
    );
    const payloads = await readAll(client.sendMessageStream(saying('rounds 2')));
    const updates = payloads.flatMap((each) => (each.$case === 'artifactUpdate' ? [each.value] : []));
    t.deepEqual(
      updates.map(({ artifact, lastChunk }) => [artifact?.parts[0]?.content?.value as unknown, lastChunk]),
      [[{ rounds: 2, notes: [] }, true]],
    );
  });

test('a run that fails is a task that has failed, and says why', async (t) => {
  const task = asTask(await (await service.client('obedient')).sendMessage(saying('fail')));
  t.is(task.status?.state, TaskState.TASK_STATE_FAILED);
  t.truthy(task.status?.message);
});

const call = async (body: object | string, headers: Record<string, string> = { 'a2a-version': '1.0' }) => {
  const reply = await fetch(`${service.url()}/a2a/obedient`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
};

test('a caller of 0.3 is refused by the name of the error', async (t) => {
  const get = { jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 'x' } };
  for (const headers of [{}, { 'a2a-version': '0.3' }]) {
    const { status, body } = await call(get, headers);
    t.is(status, 200);
    t.like(body, { id: 7, error: { code: -32009 } });
  }
  const old = await call({ jsonrpc: '2.0', id: 8, method: 'message/send', params: {} }, {});
  t.like(old, { status: 200, body: { id: 8, error: { code: -32009 } } });
  const rest = await fetch(`${service.url()}/a2a/obedient/tasks/x`);
  t.is(rest.status, 400);
  t.like(await rest.json(), {
    error: { status: 'FAILED_PRECONDITION', details: [{ reason: 'VERSION_NOT_SUPPORTED' }] },
  });
  t.truthy(VersionNotSupportedError);
});

for (const [what, body, code, id] of [
  ['no JSON', '{', -32700, null],
  ['no version of JSON-RPC', { id: 1, method: 'GetTask' }, -32600, 1],
  ['no id', { jsonrpc: '2.0', method: 'GetTask', params: { id: 'x' } }, -32600, null],
  ['an unknown method', { jsonrpc: '2.0', id: 'a', method: 'message/send' }, -32601, 'a'],
  ['no task', { jsonrpc: '2.0', id: 2, method: 'GetTask', params: {} }, -32602, 2],
  ['no message', { jsonrpc: '2.0', id: 3, method: 'SendMessage', params: {} }, -32602, 3],
] as const)
  test(`what is no call is an error of JSON-RPC: ${what}`, async (t) => {
    const reply = await call(body);
    t.is(reply.status, 200);
    t.like(reply.body, { jsonrpc: '2.0', id, error: { code } });
  });

test('an error of JSON-RPC that is not about the caller or the service has the status 200, whatever it is', async (t) => {
  const message = { role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const contextId = crypto.randomUUID();
  const send = { ...message, contextId, messageId: crypto.randomUUID() };
  await (await service.client('echo')).sendMessage(saying('hello', { contextId }));
  const ofOther = await call({ jsonrpc: '2.0', id: 4, method: 'SendMessage', params: { message: send } });
  t.is(ofOther.status, 200);
  t.like(ofOther.body, { id: 4, error: { data: [{ reason: 'CONFLICT' }] } });
  const typed = await call({}, { 'a2a-version': '1.0', 'content-type': 'text/plain' });
  t.is(typed.status, 200);
  t.truthy(typed.body['error']);
});

test('what is refused is named as its caller has named it', async (t) => {
  const refused = async (method: string, params: object): Promise<unknown> => {
    const { body } = await call({ jsonrpc: '2.0', id: 5, method, params });
    const { data } = body['error'] as { readonly data: readonly { readonly fieldViolations?: { field: string }[] }[] };
    return data[1]?.fieldViolations?.[0]?.field;
  };
  const long = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'x'.repeat(2 * 1024 * 1024) }] };
  t.regex(String(await refused('SendMessage', { message: long })), /^message/);
  t.is(await refused('ListTasks', { statusTimestampAfter: 'never' }), 'statusTimestampAfter');
  t.is(await refused('ListTasks', { pageToken: 'none' }), 'pageToken');
});

test('a long message stands in the history of its task, too', async (t) => {
  const client = await service.client('obedient');
  const text = 'x'.repeat(100_000);
  const task = asTask(await client.sendMessage(saying(text)));
  const read = await client.getTask({ tenant: '', id: task.id, historyLength: undefined });
  for (const { history } of [task, read])
    t.deepEqual(
      history.map(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value.length : 0))),
      [[100_000]],
    );
});
