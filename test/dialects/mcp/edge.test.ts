import test from 'ava';
import { until } from '../../until.ts';
import { modern, readReply, serveMcp } from './service.ts';

const page = 'https://page.example.com';
const service = serveMcp(test, { CORS_ORIGINS: page });
const { send, call } = service;

type Fields = Readonly<Record<string, unknown>>;

/** The session of a client of 2025-11-25. */
async function open(capabilities: object = {}): Promise<Readonly<Record<string, string>>> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } };
  const { headers } = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  return { 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
}

const toolCall = (id: number | string, name: string, args: Fields = {}, more: Fields = {}) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...more } },
});

/** What the newest run is doing. */
async function newestRun(): Promise<Fields> {
  const reply = await fetch(`${service.url()}/v1/runs?limit=1`);
  const { data } = (await reply.json()) as { readonly data: { readonly runs: readonly Fields[] } };
  return data.runs[0] ?? {};
}

test.serial('a notification has no reply, and only POST and a stream that goes on are served', async (t) => {
  const session = await open();
  const notified = await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  t.deepEqual([notified.status, notified.text], [202, '']);
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const reply = await fetch(`${service.url()}/mcp`, { method, headers: session });
    t.is(reply.status, 405, method);
    t.regex(reply.headers.get('allow') ?? '', /POST/, method);
  }
  const broken = await send({ jsonrpc: '2.0', id: 1 });
  t.is(broken.status, 400);
  t.like(broken.messages[0], { error: { code: -32_600 } });
  t.is((await send({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-session-id': 'none' })).status, 404);
  const foreign = await send({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '2020-01-01' });
  t.is(foreign.status, 400);
  t.like(foreign.messages[0], { error: { code: -32_022, data: { requested: '2020-01-01' } } });
});

test.serial('a client that takes no stream gets JSON, however long its call takes, and whatever it asks', async (t) => {
  const accept = 'application/json';
  const session = { ...(await open({ elicitation: { form: {} } })), accept };
  const jsonOf = async (message: object, headers: Readonly<Record<string, string>>) => {
    const reply = await send(message, headers);
    t.regex(reply.headers.get('content-type') ?? '', /^application\/json/);
    return (reply.messages[0]?.['result'] ?? {}) as Fields;
  };
  t.true(JSON.stringify(await jsonOf(toolCall('slow', 'slow_compute', { seconds: 1 }), session)).includes('text'));
  const asked = await jsonOf(toolCall('asks', 'test_elicitation', { message: 'Who?' }), session);
  t.like(asked, { isError: true });
  const { message, headers } = modern(
    'tools/call',
    { name: 'test_elicitation', arguments: { message: 'Who?' } },
    { elicitation: { form: {} } },
  );
  t.like(await jsonOf(message, { ...headers, accept }), { resultType: 'input_required' });
});

test.serial(
  'a cancelled call of a session is stopped within a second, by a request that may reach any replica',
  async (t) => {
    const session = await open();
    const running = send(toolCall('long', 'slow_compute', { seconds: 60 }), session);
    await until(async () => (await newestRun())['status'] === 'running');
    const start = performance.now();
    const params = { requestId: 'long', reason: 'no time' };
    t.is((await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, session)).status, 202);
    const { messages } = await running;
    t.true(performance.now() - start < 1000);
    t.like(messages.at(-1), { id: 'long', result: { isError: true } });
    t.is((await newestRun())['status'], 'stopped');
  },
);

test.serial('a closed connection stops a call without a handshake, but not one with a key', async (t) => {
  const { message, headers } = modern('tools/call', { name: 'slow_compute', arguments: { seconds: 2 } });
  const abandon = async (more: object): Promise<void> => {
    const controller = new AbortController();
    const reply = await fetch(`${service.url()}/mcp`, {
      ...{ method: 'POST', body: JSON.stringify(message), signal: controller.signal },
      headers: { 'content-type': 'application/json', ...headers, ...more },
    });
    t.is(reply.status, 200);
    await until(async () => (await newestRun())['status'] === 'running');
    controller.abort();
  };
  await abandon({});
  await until(async () => (await newestRun())['status'] === 'stopped');
  await abandon({ 'idempotency-key': 'again' });
  const again = await send(message, { ...headers, 'idempotency-key': 'again' });
  t.like(again.messages.at(-1), { result: { content: [{ type: 'text', text: ' took 2 s' }] } });
});

test.serial('a stream goes on behind each of its events with exactly those that follow', async (t) => {
  const session = await open();
  const more = { _meta: { progressToken: 'p' } };
  const whole = await send(toolCall(7, 'test_tool_with_progress', {}, more), session);
  t.is(whole.messages.filter(({ method }) => method === 'notifications/progress').length, 3);
  t.is(whole.ids.length, 5, whole.text);
  for (const [index, id] of whole.ids.entries()) {
    const rest = await readReply(
      await fetch(`${service.url()}/mcp`, {
        headers: { ...session, accept: 'text/event-stream', 'last-event-id': id },
      }),
    );
    t.deepEqual(rest.ids, whole.ids.slice(index + 1));
    t.deepEqual(rest.messages, whole.messages.slice(index), String(index));
  }
  const headers = { ...session, 'last-event-id': 'none' };
  t.is((await fetch(`${service.url()}/mcp`, { headers })).status, 400);
});

test.serial(
  'a question goes within the stream, and its reply may come by any request; what does not fit gives it up',
  async (t) => {
    const session = await open({ elicitation: {} });
    for (const [result, text] of [
      [{ action: 'accept', content: { name: 'Ada' } }, 'Hello, Ada!'],
      [{ action: 'accept', content: {} }, 'Hello, undefined!'],
      ['nothing', 'Hello, undefined!'],
    ] as const) {
      const reply = await fetch(`${service.url()}/mcp`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', ...session } },
        body: JSON.stringify(toolCall(crypto.randomUUID(), 'test_input_required_result_elicitation')),
      });
      const reader = (reply.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
      let read = '';
      const until_ = async (words: string): Promise<void> => {
        while (!read.includes(words)) {
          const { value, done } = await reader.read();
          if (done) break;
          read += value;
        }
      };
      await until_('elicitation/create');
      const id = /"id":"([^"]+)","method":"elicitation\/create"/.exec(read)?.[1];
      t.is((await send({ jsonrpc: '2.0', id, result }, session)).status, 202);
      await until_('"content"');
      t.true(read.includes(text), read);
      // It has its answer, and takes no other.
      t.is((await send({ jsonrpc: '2.0', id, result }, session)).status, 202);
    }
  },
);

test.serial('requestState is that of its caller and its call', async (t) => {
  const params = { name: 'test_elicitation', arguments: { message: 'who?' } };
  const can = { elicitation: {} };
  const { requestState, inputRequests } = await call('tools/call', params, can);
  t.deepEqual(Object.keys(inputRequests as object), ['form']);
  const inputResponses = { form: { action: 'decline' } };
  const other = { ...params, arguments: { message: 'else?' } };
  t.like(await call('tools/call', { ...other, requestState, inputResponses }, can), { code: -32_602 });
  t.like(await call('tools/call', { ...params, requestState: 'x', inputResponses }, can), { code: -32_602 });
  const first = await call('tools/call', { ...params, requestState, inputResponses }, can);
  t.like(first, { resultType: 'complete', content: [{ text: 'User response: action: decline, content: {}' }] });
  const again = await call('tools/call', { ...params, requestState, inputResponses }, can);
  t.deepEqual(again, first, 'the answer is not given twice');
});

test.serial('pages of listed origins may send and read what the protocol needs, and others are refused', async (t) => {
  const preflight = await fetch(`${service.url()}/mcp`, {
    method: 'OPTIONS',
    headers: {
      origin: page,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'mcp-protocol-version, mcp-session-id, mcp-method, mcp-name',
    },
  });
  t.is(preflight.headers.get('access-control-allow-origin'), page);
  for (const name of ['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name', 'last-event-id'])
    t.true(preflight.headers.get('access-control-allow-headers')?.toLowerCase().includes(name), name);
  const { message, headers } = modern('tools/list');
  const allowed = await send(message, { ...headers, origin: page });
  t.is(allowed.status, 200);
  t.true(allowed.headers.get('access-control-expose-headers')?.includes('Mcp-Session-Id'));
  t.is((await send(message, { ...headers, origin: 'https://other.example.com' })).status, 403);
});

test.serial(
  'each version with a handshake is answered as it is asked for, and any other with the newest',
  async (t) => {
    const versionFor = async (protocolVersion: string): Promise<unknown> => {
      const { messages } = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion } });
      return (messages[0]?.['result'] as Fields)['protocolVersion'];
    };
    t.is(await versionFor('2025-06-18'), '2025-06-18');
    t.is(await versionFor('2025-11-25'), '2025-11-25');
    t.is(await versionFor('2030-01-01'), '2025-11-25');
    const session = { ...(await open()), 'mcp-protocol-version': '2025-06-18' };
    const { text } = await send(toolCall(1, 'greet', { name: 'Ada' }), session);
    t.notRegex(text, /^data: $/m, 'its clients take no event without a message');
  },
);

test.serial('a cancelled call that has asked takes no answer, and its stream ends', async (t) => {
  const session = await open({ elicitation: {} });
  const running = send(toolCall('asking', 'test_streaming_elicitation'), session);
  await until(async () => (await newestRun())['status'] === 'interrupted');
  const params = { requestId: 'asking' };
  t.is((await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, session)).status, 202);
  const { messages } = await running;
  const [question] = messages;
  t.like(question, { method: 'elicitation/create' });
  t.is(messages.length, 1);
  const accepted = { jsonrpc: '2.0', id: question?.['id'], result: { action: 'accept', content: { name: 'Ada' } } };
  t.is((await send(accepted, session)).status, 202);
  t.is((await newestRun())['status'], 'interrupted');
});
