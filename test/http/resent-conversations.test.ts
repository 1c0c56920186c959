import test from 'ava';
import { user } from '../servers/client.ts';
import { serve } from './service.ts';

const { send, stream, refused } = serve(test);

interface Stored {
  readonly message_id: string;
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[];
}

const eye = { name: 'look', parameters: { type: 'object', properties: {} } };
const tools = [eye, { ...eye, name: 'listen' }];

const fromUser = (id: string, text: string): Stored => ({
  message_id: id,
  role: 'user',
  content: [{ type: 'text', text }],
});
const calling = (id: string, callId: string, name = 'look'): Stored => ({
  message_id: id,
  role: 'assistant',
  content: [{ type: 'remote_tool_call', id: callId, name, args: {}, tool_type: 'remote' }],
});
const result = (id: string, callId: string, output: unknown = 'a cat'): Stored => ({
  message_id: id,
  role: 'tool',
  content: [{ type: 'tool_result', call_id: callId, output, status: 'completed', is_error: false }],
});

const invoke = (threadId: string, messages: readonly unknown[], more: object = {}) =>
  send('POST', '/v1/graph/invoke', { messages, tools, config: { thread_id: threadId }, ...more });

const list = async (threadId: string): Promise<readonly Stored[]> =>
  ((await send('GET', `/v1/threads/${threadId}/messages`)).body.data as { messages: readonly Stored[] }).messages;
const ids = async (threadId: string): Promise<string[]> => (await list(threadId)).map((each) => each.message_id);

/** A thread with an answered call of a remote tool in it. */
async function answered(threadId: string): Promise<readonly Stored[]> {
  await invoke(threadId, [fromUser('u-1', 'call look c-1')]);
  await invoke(threadId, [result('t-1', 'c-1')]);
  return list(threadId);
}

/** The calls of the context that have not one result each, which no API of a model takes. */
async function unpaired(threadId: string): Promise<string[]> {
  const { state } = (await send('GET', `/v1/threads/${threadId}/state`)).body.data as {
    state: { context: readonly Stored[] };
  };
  const faults: string[] = [];
  const open = new Set<string>();
  for (const { role, content } of state.context) {
    for (const block of content) {
      if (block.type.endsWith('tool_call')) open.add(String(block['id']));
      else if (block.type === 'tool_result' && !open.delete(String(block['call_id'])))
        faults.push(String(block['call_id']));
    }
    if (role === 'user') faults.push(...open);
  }
  return faults;
}

test('the whole conversation of a thread, sent again with a new question, is replaced in place and runs', async (t) => {
  const history = await answered('whole');
  const { status, body } = await invoke('whole', [...history, fromUser('u-2', 'and now?')]);
  t.is(status, 200, JSON.stringify(body));
  t.deepEqual((await ids('whole')).slice(0, -1), [...history.map(({ message_id: id }) => id), 'u-2']);
  t.deepEqual(await unpaired('whole'), []);
});

test('so it is in a stream and in a run that nobody waits for', async (t) => {
  const history = await answered('accepted');
  const body = { messages: [...history, fromUser('u-2', 'and now?')], config: { thread_id: 'accepted' } };
  const accepted = await send('POST', '/v1/runs', body);
  t.is(accepted.status, 202, JSON.stringify(accepted.body));
  const { run_id: runId } = accepted.body.data as { run_id: string };
  t.like((await send('GET', `/v1/runs/${runId}/wait`)).body.data, { meta: { status: 'completed' } });
  const kinds: string[] = [];
  for await (const { event } of stream({ ...body, messages: [...history, fromUser('u-3', 'again')] }))
    kinds.push(event);
  t.is(kinds.at(-1), 'on_chain_end');
  t.true((await ids('accepted')).includes('u-3'));
});

test('a conversation whose answers came under other ids is taken, and no call has two results', async (t) => {
  const history = await answered('own-ids');
  const own = history.map((message, index) =>
    message.role === 'user' ? message : { ...message, message_id: `own-${String(index)}` },
  );
  const { status, body } = await invoke('own-ids', [...own, fromUser('u-2', 'and now?')]);
  t.is(status, 200, JSON.stringify(body));
  t.deepEqual(await unpaired('own-ids'), []);
});

test('a result that the thread has under another id is left out beside a new question', async (t) => {
  const history = await answered('result-again');
  const { status, body } = await invoke('result-again', [result('t-other', 'c-1'), fromUser('u-2', 'and now?')]);
  t.is(status, 200, JSON.stringify(body));
  t.deepEqual((await ids('result-again')).slice(0, -1), [...history.map(({ message_id: id }) => id), 'u-2']);
  t.deepEqual(await unpaired('result-again'), []);
});

test('results under other ids are left out where the messages of their calls are sent again under those of the thread', async (t) => {
  await answered('own-results');
  await invoke('own-results', [fromUser('u-2', 'call look c-1')]);
  await invoke('own-results', [result('t-2', 'c-1')]);
  const history = await list('own-results');
  const own = history.map((message) =>
    message.role === 'tool' ? { ...message, message_id: `own-${message.message_id}` } : message,
  );
  const { status, body } = await invoke('own-results', [...own, fromUser('u-3', 'and now?')]);
  t.is(status, 200, JSON.stringify(body));
  t.deepEqual((await ids('own-results')).slice(0, -1), [...history.map(({ message_id: id }) => id), 'u-3']);
  t.deepEqual(await unpaired('own-results'), []);
});

test('of a message with results the thread has and one that was missing, the missing one is taken', async (t) => {
  await answered('joined');
  await invoke('joined', [fromUser('u-2', 'call listen c-2')]);
  const history = (await list('joined')).filter(({ role }) => role !== 'tool');
  const both = { ...result('t-2', 'c-1'), content: [...result('', 'c-1').content, ...result('', 'c-2').content] };
  const { status, body } = await invoke('joined', [...history, both]);
  t.is(status, 200, JSON.stringify(body));
  t.like(body.data, { meta: { status: 'completed' } });
  const results = (await list('joined')).filter(({ role }) => role === 'tool');
  t.deepEqual(
    results.map(({ message_id: id, content }) => [id, ...content.map((block) => block['call_id'])]),
    [
      ['t-1', 'c-1'],
      ['t-2', 'c-2'],
    ],
  );
  t.deepEqual(await unpaired('joined'), []);
});

test('a whole conversation with the result of the open call goes on where the thread stood', async (t) => {
  await invoke('resumed', [fromUser('u-1', 'call look c-1')]);
  const before = await list('resumed');
  const { status, body } = await invoke('resumed', [...before, result('t-1', 'c-1')]);
  t.is(status, 200, JSON.stringify(body));
  const { meta } = body.data as { meta: { status: string; resumes?: string } };
  t.is(meta.status, 'completed');
  t.truthy(meta.resumes);
  t.deepEqual((await ids('resumed')).slice(0, -1), [...before.map(({ message_id: id }) => id), 't-1']);
});

test('the results of earlier turns do not answer an open call of the same id', async (t) => {
  await answered('alike');
  await invoke('alike', [fromUser('u-2', 'call look c-1')]);
  const history = await list('alike');
  const { status, body } = await invoke('alike', [...history, fromUser('u-3', 'never mind')]);
  t.is(status, 200, JSON.stringify(body));
  const cancelled = (await list('alike'))
    .flatMap(({ content }) => content)
    .filter((each) => each['status'] === 'cancelled');
  t.is(cancelled.length, 1);
});

test('an imported conversation with an answered call starts a thread', async (t) => {
  const imported = [user('hello'), calling('a-1', 'x-1'), result('r-1', 'x-1'), user('and now?')];
  const { status, body } = await invoke('imported', imported);
  t.is(status, 200, JSON.stringify(body));
  t.like(body.data, { meta: { is_new_thread: true, status: 'completed' } });
  t.deepEqual(await unpaired('imported'), []);
  const accepted = await send('POST', '/v1/runs', { messages: imported, config: { thread_id: 'imported-too' } });
  t.is(accepted.status, 202, JSON.stringify(accepted.body));
  const { run_id: runId } = accepted.body.data as { run_id: string };
  t.like((await send('GET', `/v1/runs/${runId}/wait`)).body.data, { meta: { status: 'completed' } });
});

test('a result of an imported call that stands in the thread without one is taken', async (t) => {
  await invoke('later', [user('hello')]);
  await send('POST', '/v1/threads/later/messages', { messages: [calling('a-1', 'x-1')] });
  const { status, body } = await invoke('later', [result('r-1', 'x-1'), user('and now?')]);
  t.is(status, 200, JSON.stringify(body));
  t.deepEqual(await unpaired('later'), []);
});

test('a result for a call that nobody made stays refused, alone, in a conversation, and before its call', async (t) => {
  const bad = 'BAD_REQUEST';
  await answered('nobody');
  await refused(t, invoke('nobody', [result('r', 'c-9')]), 400, bad);
  await refused(t, invoke('nobody', [result('r', 'c-9'), user('and now?')]), 400, bad);
  await refused(t, invoke('unknown', [result('r', 'c-9'), user('and now?')]), 400, bad);
  await refused(t, invoke('unknown', [result('r', 'x-1'), calling('a', 'x-1'), user('and now?')]), 400, bad);
  await refused(t, invoke('nobody', [result('r', 'c-1')]), 400, bad);
});

test('a queued run takes its conversation by what the thread has when its turn comes', async (t) => {
  const history = await answered('queued');
  const config = { thread_id: 'queued' };
  const first = await send('POST', '/v1/runs', { messages: [fromUser('u-2', 'rounds 20')], config, tools });
  const second = await send('POST', '/v1/runs', {
    messages: [...history, fromUser('u-2', 'rounds 1'), fromUser('u-3', 'end')],
    config,
  });
  t.deepEqual([first.status, second.status], [202, 202]);
  const { run_id: runId } = second.body.data as { run_id: string };
  t.like((await send('GET', `/v1/runs/${runId}/wait`)).body.data, { meta: { status: 'completed' } });
  t.deepEqual(await unpaired('queued'), []);
});
