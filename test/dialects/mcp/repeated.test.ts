import test from 'ava';
import { until } from '../../until.ts';
import { modern, serveMcp, tasks } from './service.ts';

type Fields = Readonly<Record<string, unknown>>;

const service = serveMcp(test);
const { send, call } = service;

const can = { elicitation: {} };
const deletion = { name: 'delete_three', arguments: {} };
const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } };

const questionOf = ({ inputRequests }: Fields): unknown =>
  (inputRequests as { readonly confirm?: { readonly params: Fields } } | undefined)?.confirm?.params['message'];

async function open(): Promise<Readonly<Record<string, string>>> {
  const params = { protocolVersion: '2025-11-25', capabilities: can, clientInfo: { name: 'test', version: '1' } };
  const { headers } = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  return { 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
}

async function askingThreads(): Promise<readonly string[]> {
  const reply = await fetch(`${service.url()}/v1/runs?limit=20`);
  const { data } = (await reply.json()) as { readonly data: { readonly runs: readonly Record<string, string>[] } };
  return data.runs.flatMap(({ status, thread_id: thread = '' }) => (status === 'interrupted' ? [thread] : []));
}

const toolCall = (id: unknown, name: string, args: Fields = {}, more: Fields = {}) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...more } },
});

test('an answer that is sent again answers no later question', async (t) => {
  const { requestState } = await call('tools/call', deletion, can);
  const answer = { ...deletion, requestState, inputResponses };
  for (let time = 0; time < 3; time += 1) t.is(questionOf(await call('tools/call', answer, can)), 'Delete B?');
});

test('of answers that come at once one counts, and all go on with its run', async (t) => {
  const { requestState } = await call('tools/call', deletion, can);
  const answer = { ...deletion, requestState, inputResponses };
  const replies = await Promise.all([1, 2, 3].map(() => call('tools/call', answer, can)));
  t.deepEqual(replies.map(questionOf), ['Delete B?', 'Delete B?', 'Delete B?']);
  t.is(new Set(replies.map((reply) => reply['requestState'])).size, 1);
  const { taskId } = await call('tools/call', { name: 'confirm_delete', arguments: {} }, tasks);
  const update = { taskId, inputResponses };
  await Promise.all([1, 2, 3].map(() => call('tasks/update', update, tasks)));
  t.not((await call('tasks/get', { taskId }, tasks))['status'], 'cancelled');
});

test('an id of a session that comes again for another call is refused', async (t) => {
  const session = await open();
  const first = await send(toolCall(5, 'greet', { name: 'Ada' }), session);
  t.deepEqual((await send(toolCall(5, 'greet', { name: 'Ada' }), session)).messages.at(-1), first.messages.at(-1));
  const other = await send(toolCall(5, 'greet', { name: 'Bob' }), session);
  t.like(other.messages.at(-1), { id: 5, error: { code: -32_600 } });
});

test('a key means nothing for what starts no run, and repeats what was refused', async (t) => {
  const key = { 'idempotency-key': 'twice' };
  for (const sent of [modern('tools/list'), modern('tools/call', { name: 'none' })]) {
    const replies = [
      await send(sent.message, { ...sent.headers, ...key }),
      await send(sent.message, { ...sent.headers, ...key }),
    ];
    t.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    );
    t.deepEqual(replies[1]?.messages, replies[0]?.messages);
  }
});

test('ids that are none, long ids and names that are no texts are refused', async (t) => {
  const session = await open();
  const long = 'x'.repeat(257);
  for (const id of [null, 1.5, {}, true, long])
    t.like((await send({ jsonrpc: '2.0', id, method: 'ping' }, session)).messages[0], { error: { code: -32_600 } });
  const token = { _meta: { progressToken: long } };
  t.is((await send(toolCall(1, 'greet', {}, token), session)).status, 400);
  const name = { toString: null } as unknown as string;
  t.like((await send(toolCall(2, name), session)).messages[0], { id: 2, error: { code: -32_602 } });
  const level = { jsonrpc: '2.0', id: 3, method: 'logging/setLevel', params: { level: { toString: null } } };
  t.like((await send(level, session)).messages[0], { id: 3, error: { code: -32_602 } });
});

test.serial(
  'the answer to a question that is gone is refused with the id of its request, and who waits for one is told',
  async (t) => {
    const waiting = send(toolCall('waits', 'delete_three'), await open());
    const { requestState } = await call('tools/call', deletion, can);
    let threads: readonly string[] = [];
    await until(async () => {
      threads = await askingThreads();
      return threads.length === 2;
    });
    const mcp = { method: 'tools/call', name: 'greet', arguments: {}, capabilities: [] };
    for (const thread of threads) {
      const config = { agent: 'conforming', thread_id: thread };
      const body = JSON.stringify({ initial_state: {}, context: { mcp }, config });
      const headers = { 'content-type': 'application/json' };
      t.true((await fetch(`${service.url()}/v1/runs`, { method: 'POST', headers, body })).ok);
    }
    const { message, headers } = modern('tools/call', { ...deletion, requestState, inputResponses }, can);
    t.like((await send(message, headers)).messages.at(-1), { id: 1, result: { isError: true } });
    t.like((await waiting).messages.at(-1), { id: 'waits', result: { isError: true } });
  },
);
