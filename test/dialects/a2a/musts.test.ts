import { readFileSync } from 'node:fs';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { serveA2a } from './service.ts';

const service = serveA2a(test);

type Fields = Readonly<Record<string, unknown>>;

/** What an operation has answered: its result, or its error by the reason that its details name. */
interface Answered {
  readonly result?: Fields;
  readonly reason?: string;
}

/** Calls operations of an agent by one binding. */
interface Binding {
  readonly name: string;
  readonly call: (agent: string, method: string, params: Fields) => Promise<Answered>;
  /** What a stream has, each event as its `StreamResponse`. */
  readonly stream: (agent: string, method: string, params: Fields) => Promise<readonly Fields[]>;
}

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

const reasonIn = (details: unknown): string => String((details as readonly Fields[])[0]?.['reason']);

const dataIn = (text: string): readonly Fields[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6)) as Fields] : []));

const rpcBody = (method: string, params: Fields): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 'an id', method, params });

const rpc: Binding = {
  name: 'JSON-RPC',
  call: async (agent, method, params) => {
    const reply = await fetch(`${service.url()}/a2a/${agent}`, {
      method: 'POST',
      headers,
      body: rpcBody(method, params),
    });
    const { id, result, error } = (await reply.json()) as Fields & { error?: Fields; result?: Fields };
    if (id !== 'an id') throw new Error(`the id is ${String(id)}`);
    return result ? { result } : { reason: reasonIn(error?.['data']) };
  },
  stream: async (agent, method, params) => {
    const reply = await fetch(`${service.url()}/a2a/${agent}`, {
      method: 'POST',
      headers,
      body: rpcBody(method, params),
    });
    const events = dataIn(await reply.text());
    if (events.some(({ id }) => id !== 'an id')) throw new Error('an event lacks the id of its call');
    return events.map(({ result }) => result as Fields);
  },
};

/** Where each operation stands by REST; a `*` is the id of the task. */
const paths: Readonly<Record<string, readonly [method: string, path: string]>> = {
  SendMessage: ['POST', '/message:send'],
  SendStreamingMessage: ['POST', '/message:stream'],
  GetTask: ['GET', '/tasks/*'],
  ListTasks: ['GET', '/tasks'],
  CancelTask: ['POST', '/tasks/*:cancel'],
  SubscribeToTask: ['POST', '/tasks/*:subscribe'],
  GetExtendedAgentCard: ['GET', '/extendedAgentCard'],
};

const sendRest = (agent: string, name: string, params: Fields): Promise<Response> => {
  const [method = '', path = ''] = paths[name] ?? [];
  const { id, ...rest } = params;
  const query = method === 'GET' ? `?${new URLSearchParams(rest as Record<string, string>).toString()}` : '';
  return fetch(`${service.url()}/a2a/${agent}${path.replace('*', String(id))}${query}`, {
    method,
    headers,
    ...(method === 'POST' && { body: JSON.stringify(path.includes('*') ? {} : params) }),
  });
};

const rest: Binding = {
  name: 'REST',
  call: async (agent, method, params) => {
    const reply = await sendRest(agent, method, params);
    const body = (await reply.json()) as Fields & { error?: Fields };
    if (reply.ok) return { result: body };
    const { code, status, message, details } = body.error ?? {};
    if (code !== reply.status || typeof status !== 'string' || typeof message !== 'string')
      throw new Error('the error lacks a field');
    return { reason: reasonIn(details) };
  },
  stream: async (agent, method, params) => dataIn(await (await sendRest(agent, method, params)).text()),
};

const saying = (text: string, more: Fields = {}): Fields => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

interface Task extends Fields {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly timestamp: string };
  readonly history?: readonly Fields[];
  readonly artifacts?: readonly Fields[];
}

const taskIn = ({ result }: Answered): Task => (result?.['task'] ?? result) as unknown as Task;

const begun = async ({ call }: Binding, agent: string, text: string, configuration: Fields = {}): Promise<Task> =>
  taskIn(await call(agent, 'SendMessage', { ...saying(text), configuration }));

const stateOf = (event: Fields | undefined): string | undefined =>
  (event?.['statusUpdate'] as { status: { state: string } } | undefined)?.status.state;

/** What the specification demands of an agent, in our words, and whether it holds. Sections are those of A2A 1.0. */
const musts: Readonly<Record<string, (binding: Binding) => Promise<boolean>>> = {
  '3.1.1 a message is answered with a task or a message': async (to) =>
    (await begun(to, 'obedient', 'hello')).id.length > 0,
  '3.1.1 a message to a task that has ended is UNSUPPORTED_OPERATION': async (to) => {
    const { id: taskId } = await begun(to, 'obedient', 'hello');
    return (await to.call('obedient', 'SendMessage', saying('again', { taskId }))).reason === 'UNSUPPORTED_OPERATION';
  },
  '3.1.2 a stream begins with the task and closes in its last state': async ({ stream }) => {
    const events = await stream('obedient', 'SendStreamingMessage', saying('hello'));
    return 'task' in (events[0] ?? {}) && stateOf(events.at(-1)) === 'TASK_STATE_COMPLETED';
  },
  '3.1.3 a task is read as it stands': async (to) => {
    const { id } = await begun(to, 'obedient', 'hello');
    return taskIn(await to.call('obedient', 'GetTask', { id })).status.state === 'TASK_STATE_COMPLETED';
  },
  '3.1.3 a task that is absent is TASK_NOT_FOUND': async ({ call }) =>
    (await call('obedient', 'GetTask', { id: crypto.randomUUID() })).reason === 'TASK_NOT_FOUND',
  '3.1.4 tasks are listed in pages by a token, which is empty on the last one': async (to) => {
    const { contextId } = await begun(to, 'obedient', 'hello');
    await to.call('obedient', 'SendMessage', saying('again', { contextId }));
    const first = (await to.call('obedient', 'ListTasks', { contextId, pageSize: 1 })).result ?? {};
    const pageToken = first['nextPageToken'];
    const last = (await to.call('obedient', 'ListTasks', { contextId, pageSize: 100 })).result ?? {};
    const next = (await to.call('obedient', 'ListTasks', { contextId, pageSize: 1, pageToken })).result ?? {};
    const count = ({ tasks }: Fields): number => (tasks as unknown[]).length;
    return pageToken !== '' && last['nextPageToken'] === '' && [first, last, next].map(count).join() === '1,2,1';
  },
  '3.1.4 tasks are listed by the time of their state, the newest first': async (to) => {
    const { contextId } = await begun(to, 'obedient', 'hello');
    await to.call('obedient', 'SendMessage', saying('again', { contextId }));
    const { tasks } = (await to.call('obedient', 'ListTasks', { contextId })).result ?? {};
    const times = (tasks as readonly Task[]).map(({ status }) => status.timestamp);
    return times.length === 2 && times.join() === times.toSorted().toReversed().join();
  },
  '3.1.4 artifacts are left out of a list unless it asks for them': async (to) => {
    const { contextId } = await begun(to, 'obedient', 'hello');
    const { tasks } = (await to.call('obedient', 'ListTasks', { contextId })).result ?? {};
    return (tasks as readonly Task[]).every((task) => !('artifacts' in task));
  },
  '3.1.5 a task is cancelled and answered with its state': async (to) => {
    const { id } = await begun(to, 'typing', 'hello', { returnImmediately: true });
    return taskIn(await to.call('typing', 'CancelTask', { id })).status.state === 'TASK_STATE_CANCELED';
  },
  '3.1.5 a task that has ended is TASK_NOT_CANCELABLE': async (to) => {
    const { id } = await begun(to, 'obedient', 'hello');
    return (await to.call('obedient', 'CancelTask', { id })).reason === 'TASK_NOT_CANCELABLE';
  },
  '3.1.5 cancelling what is absent is TASK_NOT_FOUND': async ({ call }) =>
    (await call('obedient', 'CancelTask', { id: crypto.randomUUID() })).reason === 'TASK_NOT_FOUND',
  '3.1.6 a subscriber gets the task first, then what happens until its last state': async (to) => {
    const { id } = await begun(to, 'typing', 'hello', { returnImmediately: true });
    const events = await to.stream('typing', 'SubscribeToTask', { id });
    return 'task' in (events[0] ?? {}) && stateOf(events.at(-1)) === 'TASK_STATE_COMPLETED';
  },
  '3.1.6 subscribing to a task that has ended is UNSUPPORTED_OPERATION': async (to) => {
    const { id } = await begun(to, 'obedient', 'hello');
    return (await to.call('obedient', 'SubscribeToTask', { id })).reason === 'UNSUPPORTED_OPERATION';
  },
  '3.1.11 the extended card is given where the card says so': async ({ call }) =>
    (await call('obedient', 'GetExtendedAgentCard', {})).result?.['name'] === 'obedient',
  '3.2.2 a reply waits for the last state or a question unless told otherwise': async (to) =>
    (await begun(to, 'recorded', 'ask')).status.state === 'TASK_STATE_INPUT_REQUIRED',
  '3.2.2 returnImmediately is answered while the task works': async (to) => {
    const { state } = (await begun(to, 'typing', 'hello', { returnImmediately: true })).status;
    return state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING';
  },
  '3.2.4 a history is no longer than it was asked for': async (to) => {
    const { id } = await begun(to, 'recorded', 'ask');
    await to.call('recorded', 'SendMessage', saying('yes', { taskId: id }));
    const of = async (historyLength: number): Promise<number> =>
      taskIn(await to.call('recorded', 'GetTask', { id, historyLength })).history?.length ?? 0;
    return [await of(0), await of(1), await of(2)].join() === '0,1,2';
  },
  '3.3.2 parameters are checked before anything is done': async ({ call }) =>
    (await call('obedient', 'SendMessage', { message: { role: 'ROLE_USER' } })).reason === 'INVALID_PARAMS',
  '3.4.1 a context that is made is in the reply, and one that is given stays': async (to) => {
    const made = await begun(to, 'obedient', 'hello');
    const contextId = crypto.randomUUID();
    const given = taskIn(await to.call('obedient', 'SendMessage', saying('hello', { contextId })));
    return made.contextId !== '' && given.contextId === contextId;
  },
  '3.4.1 a context that cannot be taken is refused': async ({ call }) =>
    (await call('obedient', 'SendMessage', saying('hello', { contextId: 'a/b' }))).reason === 'INVALID_PARAMS',
  '3.4.2 each task has an id of its own': async (to) =>
    (await begun(to, 'obedient', 'hello')).id !== (await begun(to, 'obedient', 'hello')).id,
  '3.4.2 a message to a task that is absent is TASK_NOT_FOUND': async ({ call }) =>
    (await call('obedient', 'SendMessage', saying('x', { taskId: crypto.randomUUID() }))).reason === 'TASK_NOT_FOUND',
  '3.4.3 a message with a task alone has the context of that task': async (to) => {
    const { id: taskId, contextId } = await begun(to, 'recorded', 'ask');
    return taskIn(await to.call('recorded', 'SendMessage', saying('yes', { taskId }))).contextId === contextId;
  },
  '3.4.3 a task and a context that do not belong together are refused': async (to) => {
    const { id: taskId } = await begun(to, 'recorded', 'ask');
    const other = saying('yes', { taskId, contextId: crypto.randomUUID() });
    return (await to.call('recorded', 'SendMessage', other)).reason === 'INVALID_PARAMS';
  },
  '3.6.2 another version of the protocol is VERSION_NOT_SUPPORTED': async ({ name }) => {
    const isRpc = name === rpc.name;
    const reply = await fetch(`${service.url()}/a2a/obedient${isRpc ? '' : '/tasks/x'}`, {
      method: isRpc ? 'POST' : 'GET',
      headers: { ...headers, 'a2a-version': '0.3' },
      ...(isRpc && { body: rpcBody('GetTask', { id: 'x' }) }),
    });
    return (await reply.text()).includes('"reason":"VERSION_NOT_SUPPORTED"');
  },
};

for (const binding of [rpc, rest])
  for (const [must, holds] of Object.entries(musts))
    test(`${binding.name}: ${must}`, async (t) => {
      t.timeout(byLoad(60_000));
      t.true(await holds(binding));
    });

test('the page has the number of what is demanded', (t) => {
  const all = String(Object.keys(musts).length * 2);
  const page = readFileSync(new URL('../../../gateway/guide/a2a.md', import.meta.url), 'utf8');
  t.true(page.includes(`| What the specification demands, by both bindings | ${all} of ${all} |`), all);
});
