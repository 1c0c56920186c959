import test from 'ava';
import { user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { codeOf, replyText, serve } from './service.ts';

const { send, data, refused, thread } = serve(test);
const impatient = serve(test, 'gated', { INVOKE_TIMEOUT_MS: '200' });

interface Result {
  readonly messages: { readonly role: string; readonly content: { type: string; text?: string; id?: string }[] }[];
  readonly all_messages: { readonly role: string; readonly content: { text?: string }[] }[];
  readonly state?: Readonly<Record<string, unknown>>;
  readonly context?: unknown[];
  readonly summary?: string;
  readonly iterations: number;
  readonly recursion_limit_reached: boolean;
  readonly meta: { thread_id: string; run_id: string; is_new_thread: boolean; status: string; resumes?: string };
}

const path = '/v1/graph/invoke';
const invoke = (body: unknown) => send('POST', path, body);

test('the result has the reply, the state and what the run was', async (t) => {
  const config = { thread_id: 'one-turn', thread_name: 'First', metadata: { colour: 'red' } };
  const result: Result = await data(t, 'invokeGraph', invoke({ messages: [user('hello')], config }));
  t.is(replyText(result.messages[0]), 'you said hello');
  t.deepEqual(result.all_messages, result.messages);
  t.is(result.state?.['rounds'], 1);
  t.is(result.context?.length, 2);
  t.is(result.summary, '');
  t.is(result.iterations, 1);
  t.false(result.recursion_limit_reached);
  t.like(result.meta, { thread_id: 'one-turn', is_new_thread: true, status: 'completed' });
  const details = await data(t, 'getThread', send('GET', '/v1/threads/one-turn'));
  t.like(details, { thread_name: 'First', metadata: { colour: 'red' }, run_id: result.meta.run_id });
});

test('granularity decides what stands beside the messages', async (t) => {
  const keysAt = async (granularity: string): Promise<string[]> => {
    const result: Result = await data(
      t,
      'invokeGraph',
      invoke({ messages: [user('x')], response_granularity: granularity }),
    );
    return ['state', 'context', 'summary'].filter((key) => key in result);
  };
  t.deepEqual(await keysAt('low'), []);
  t.deepEqual(await keysAt('partial'), ['state', 'context']);
  t.deepEqual(await keysAt('full'), ['state', 'context', 'summary']);
});

test('without a thread id a new thread is made; a number names a thread by its decimal text', async (t) => {
  const { meta }: Result = await data(t, 'invokeGraph', invoke({ messages: [user('x')] }));
  t.regex(meta.thread_id, /^[0-9a-f-]{36}$/);
  const numbered: Result = await data(t, 'invokeGraph', invoke({ messages: [user('x')], config: { thread_id: 77 } }));
  t.is(numbered.meta.thread_id, '77');
  const again: Result = await data(t, 'invokeGraph', invoke({ messages: [user('y')], config: { thread_id: '77' } }));
  t.false(again.meta.is_new_thread);
  t.is(again.context?.length, 4);
});

test('the initial state passes the reducers', async (t) => {
  const body = { messages: [user('x')], initial_state: { notes: ['a'] }, config: { thread_id: 'noted' } };
  const first: Result = await data(t, 'invokeGraph', invoke(body));
  t.deepEqual(first.state?.['notes'], ['a']);
  const second: Result = await data(t, 'invokeGraph', invoke({ ...body, initial_state: { notes: ['b'] } }));
  t.deepEqual(second.state?.['notes'], ['a', 'b']);
});

test('a run that would need more rounds than its limit stops there and keeps what it has', async (t) => {
  const result: Result = await data(t, 'invokeGraph', invoke({ messages: [user('rounds 9')], recursion_limit: 3 }));
  t.true(result.recursion_limit_reached);
  t.is(result.iterations, 3);
  t.is(result.state?.['rounds'], 3);
  t.is(result.meta.status, 'completed');
});

test('a remote tool interrupts the run; its result goes on with it', async (t) => {
  const tools = [
    { node_name: 'tools', name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } },
  ];
  const config = { thread_id: 'remote' };
  const asked: Result = await data(t, 'invokeGraph', invoke({ messages: [user('call look')], tools, config }));
  t.is(asked.meta.status, 'interrupted');
  t.like(asked.messages[0]?.content[0], { type: 'remote_tool_call', id: 'call-1', name: 'look', args: { at: 'noon' } });
  const result = { role: 'tool', content: [{ type: 'tool_result', call_id: 'call-1', output: 'a cat' }] };
  const answered: Result = await data(t, 'invokeGraph', invoke({ messages: [result], config }));
  t.is(replyText(answered.messages[0]), 'thank you');
  t.is(answered.meta.resumes, asked.meta.run_id);
});

test('a tool result for a call that nobody made is 400 and named', async (t) => {
  await thread('no-call');
  const result = { role: 'tool', content: [{ type: 'tool_result', call_id: 'never', output: 1 }] };
  const reply = invoke({ messages: [result], config: { thread_id: 'no-call' } });
  t.deepEqual(await refused(t, reply, 400, codeOf(400)), [['body', 'messages']]);
});

test('two results for one call in one request are 422, and the call stays open', async (t) => {
  const tools = [{ name: 'look', parameters: { type: 'object', properties: {} } }];
  const config = { thread_id: 'answered-twice' };
  await invoke({ messages: [user('call look')], tools, config });
  const result = (output: unknown) => ({ type: 'tool_result', call_id: 'call-1', output });
  const twice = (messages: readonly object[]) => refused(t, invoke({ messages, config }), 422, codeOf(422));
  t.deepEqual(await twice([{ role: 'tool', content: [result(1), result(2)] }]), [
    ['body', 'messages', 0, 'content', 1, 'call_id'],
  ]);
  t.deepEqual(await twice([1, 2].map((output) => ({ role: 'tool', content: [result(output)] }))), [
    ['body', 'messages', 1, 'content', 0, 'call_id'],
  ]);
  const answered: Result = await data(
    t,
    'invokeGraph',
    invoke({ messages: [{ role: 'tool', content: [result(1)] }], config }),
  );
  t.is(answered.meta.status, 'completed');
});

test('a node that fails is 500 and named, and the thread can be used', async (t) => {
  const config = { thread_id: 'failing' };
  const { body, status } = await invoke({ messages: [user('fail')], config });
  t.is(status, 500);
  const error = body.error as { code: string; message: string };
  t.is(error.code, 'NODE_ERROR');
  t.regex(error.message, /obey/);
  t.notRegex(JSON.stringify(body), /at .*:\d+:\d+/);
  const next: Result = await data(t, 'invokeGraph', invoke({ messages: [user('hello')], config }));
  t.is(replyText(next.messages[0]), 'you said hello');
});

test('an invoke that waits too long is 504, and its run goes on', async (t) => {
  await using gate = await openGate();
  const body = { messages: [user('go')], config: { thread_id: 'slow', gate: gate.url } };
  const late = impatient.send('POST', path, body);
  await impatient.refused(t, late, 504, 'TIMEOUT');
  t.is((await late).headers.get('retry-after'), null, 'the run goes on: the request need not come again');
  gate.open();
  const texts = async (): Promise<string[]> => {
    const { messages } = (await impatient.data(
      t,
      'listMessages',
      impatient.send('GET', '/v1/threads/slow/messages'),
    )) as {
      messages: { content: { text?: string }[] }[];
    };
    return messages.map(replyText);
  };
  while ((await texts()).length < 3);
  t.deepEqual(await texts(), ['go', 'before the gate', 'after the gate']);
});

const message = user('hello');
for (const [what, body, loc] of [
  ['no messages', {}, ['body', 'messages']],
  ['an empty list of messages', { messages: [] }, ['body', 'messages']],
  ['an unknown role', { messages: [{ role: 'robot', content: '' }] }, ['body', 'messages', 0, 'role']],
  [
    'a block without its text',
    { messages: [message, { role: 'user', content: [{ type: 'text' }] }] },
    ['body', 'messages', 1, 'content', 0, 'text'],
  ],
  ['a time that is none', { messages: [{ ...message, timestamp: 'soon' }] }, ['body', 'messages', 0, 'timestamp']],
  ['a recursion limit of 0', { messages: [message], recursion_limit: 0 }, ['body', 'recursion_limit']],
  ['a recursion limit of 1001', { messages: [message], recursion_limit: 1001 }, ['body', 'recursion_limit']],
  ['a recursion limit as a text', { messages: [message], recursion_limit: '25' }, ['body', 'recursion_limit']],
  ['an unknown granularity', { messages: [message], response_granularity: 'most' }, ['body', 'response_granularity']],
  ['a thread id with a slash', { messages: [message], config: { thread_id: 'a/b' } }, ['body', 'config', 'thread_id']],
  ['an empty thread id', { messages: [message], config: { thread_id: '' } }, ['body', 'config', 'thread_id']],
  [
    'a strategy that is not supported',
    { messages: [message], config: { multitask_strategy: 'hope' } },
    ['body', 'config', 'multitask_strategy'],
  ],
  ['a tool without a name', { messages: [message], tools: [{}] }, ['body', 'tools', 0, 'name']],
  ['an initial state that is a list', { messages: [message], initial_state: [] }, ['body', 'initial_state']],
  [
    'an initial state that breaks a field',
    { messages: [message], initial_state: { rounds: 'many' } },
    ['body', 'initial_state', 'rounds'],
  ],
] as const) {
  test(`${what} is 422 and named`, async (t) => {
    t.deepEqual(await refused(t, invoke(body), 422, codeOf(422)), [loc]);
  });
}

test('an initial state alone starts a run, on a new thread and on one that waits', async (t) => {
  const config = { thread_id: 'state-alone' };
  const first: Result = await data(t, 'invokeGraph', invoke({ initial_state: { notes: ['a'] }, config }));
  t.is(first.meta.status, 'completed');
  t.deepEqual(first.state?.['notes'], ['a']);
  t.is(first.state?.['rounds'], 1);
  const second: Result = await data(
    t,
    'invokeGraph',
    invoke({ messages: [], initial_state: { notes: ['b'] }, config }),
  );
  t.deepEqual(second.state?.['notes'], ['a', 'b']);
  const tools = [{ name: 'look', parameters: { type: 'object', properties: {} } }];
  await data(t, 'invokeGraph', invoke({ messages: [user('call look')], tools, config }));
  const anew: Result = await data(t, 'invokeGraph', invoke({ initial_state: { notes: ['c'] }, config }));
  t.is(anew.meta.status, 'completed');
  t.deepEqual(anew.state?.['notes'], ['a', 'b', 'c']);
  const cancelled = anew.context?.filter((message) => (message as { role: string }).role === 'tool');
  t.is(cancelled?.length, 1, 'the open call is answered as by a new message');
});

test('a run without messages, initial state and resume is 422 and names the messages', async (t) => {
  for (const body of [{}, { messages: [] }, { messages: null }, { messages: null, initial_state: null }])
    t.deepEqual(await refused(t, invoke(body), 422, codeOf(422)), [['body', 'messages']]);
});
