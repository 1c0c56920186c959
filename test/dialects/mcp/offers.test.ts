import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { eras, modern, serveMcp } from './service.ts';

const agents = { conforming: agentAt('conforming'), offering: agentAt('offering'), typing: agentAt('typing') };
const service = serveMcp(test, { MCP_MEMORY_TOOLS: 'on' }, { agents });
const { call, connect, send } = service;

type Fields = Readonly<Record<string, unknown>>;

interface ToolResult extends Fields {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

for (const [era, options] of Object.entries(eras))
  test(`${era}: fields of a wrong type are left out, so that the lists of all agents are read`, async (t) => {
    await using connected = await connect(options);
    const { client } = connected;
    const { tools } = await client.listTools();
    const plain = tools.find(({ name }) => name === 'plain');
    t.deepEqual(Object.keys(plain ?? {}).sort(), ['inputSchema', 'name']);
    t.true(tools.length > 10);
    t.true((await client.listPrompts()).prompts.some(({ name }) => name === 'ask'));
    t.true((await client.listResources()).resources.some(({ uri }) => uri.startsWith('offered:')));
  });

test('an agent keeps its name as a tool, whatever another offers', async (t) => {
  const { tools } = (await call('tools/list')) as { readonly tools: readonly Fields[] };
  t.like(
    tools.filter(({ name }) => name === 'typing').map(({ inputSchema }) => inputSchema),
    [{ required: ['message'], additionalProperties: false }],
  );
  const answer = await call('tools/call', { name: 'typing', arguments: { message: 'hello' } });
  t.like(answer['structuredContent'], { state: { turns: 1 } });
});

test('a model reads by name what is wrong with the arguments that it has given to an agent', async (t) => {
  for (const [given, text] of [
    [{ message: 'hello', threadId: 'x' }, /^arguments\.threadId is none that the agent takes$/],
    [{}, /^arguments\.message must be a text$/],
    [{ message: 5 }, /^arguments\.message must be a text$/],
    [{ message: 'hello', state: { absent: 1 } }, /absent/],
    [{ message: 'hello', thread_id: 'a/b' }, /^arguments\.thread_id /],
    [{ message: 'x'.repeat(2_200_000) }, /bytes/],
  ] as const) {
    const result = (await call('tools/call', { name: 'typing', arguments: given })) as ToolResult;
    t.true(result.isError);
    t.regex(result.content[0]?.text ?? '', text);
  }
  t.like(await call('tools/call', { name: 'absent', arguments: {} }), { code: -32_602 });
});

test('a tool that promises structured content and gives none has failed', async (t) => {
  const given = await call('tools/call', { name: 'measure', arguments: { region: 'north' } });
  t.like(given, { code: -32_020 });
  const measure = async (region: string): Promise<Fields> => {
    const { message, headers } = modern('tools/call', { name: 'measure', arguments: { region } });
    const { messages } = await send(message, { ...headers, 'mcp-param-region': region });
    return messages.at(-1)?.['result'] as Fields;
  };
  t.like(await measure('north'), { structuredContent: { degrees: -5 } });
  t.like(await measure('south'), { isError: true });
});

test('a header that names an argument which is not there is refused', async (t) => {
  for (const [given, status] of [
    [{}, 400],
    [{ region: null }, 400],
    [{ region: 'us' }, 200],
  ] as const) {
    const { message, headers } = modern('tools/call', { name: 'plain', arguments: given });
    t.is((await send(message, { ...headers, 'mcp-param-region': 'us' })).status, status, JSON.stringify(given));
  }
  const { message, headers } = modern('tools/call', { name: 'plain', arguments: { region: null } });
  t.is((await send(message, headers)).status, 200);
});

test('arguments that are too large are named so', async (t) => {
  const refused = await call('tools/call', { name: 'measure', arguments: { other: 'x'.repeat(600_000) } });
  t.regex((refused as ToolResult).content[0]?.text ?? '', /^arguments has \d+ bytes/);
});

test('what completes nothing that is offered is refused', async (t) => {
  const completing = (ref: Fields, argument: Fields = { name: 'x', value: '' }): Promise<Fields> =>
    call('completion/complete', { ref, argument });
  t.like(await completing({ type: 'ref/prompt', name: 'none' }), { code: -32_602 });
  t.like(await completing({ type: 'ref/resource', uri: 'none://{x}' }), { code: -32_602 });
  t.like(await completing({ type: 'ref/prompt', name: 'ask' }, { value: '' }), { code: -32_602 });
  t.like(await completing({ type: 'ref/prompt', name: 'ask' }), { completion: { values: [] } });
});

test('the memory takes no category that is no text, and no limit beyond its own', async (t) => {
  const store = { name: 'memory_store', arguments: { content: 'a fact', category: 5 } };
  t.like(await call('tools/call', store), { isError: true });
  const search = { name: 'memory_search', arguments: { query: 'a fact', limit: 1000 } };
  t.like(await call('tools/call', search), { isError: true });
});

test('a notification of no session is refused', async (t) => {
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  t.is((await send(message, { 'mcp-session-id': 'none' })).status, 404);
  t.is((await send(message, { 'mcp-protocol-version': '2020-01-01' })).status, 400);
});
