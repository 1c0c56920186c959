import { fileURLToPath } from 'node:url';
import test from 'ava';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { modern, serveMcp, tasks } from './service.ts';

const secret = 's'.repeat(32);
const issuer = 'https://issuer.example.com';
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));
const service = serveMcp(
  test,
  { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, MCP_MEMORY_TOOLS: 'on' },
  { auth: 'jwt', authorization: `${module}:byAgent` },
);

type Fields = Readonly<Record<string, unknown>>;

const tokenOf = (user: string, ...agents: readonly string[]): string =>
  makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: user, agents, iss: issuer } });

const as =
  (user: string, ...agents: readonly string[]) =>
  async (method: string, params: Fields = {}): Promise<{ readonly status: number; readonly text: string } & Fields> => {
    const token = tokenOf(user, ...agents);
    const { message, headers } = modern(method, params, tasks);
    const { status, text, messages } = await service.send(message, { ...headers, authorization: `Bearer ${token}` });
    return { status, text, ...(messages.at(-1)?.['result'] as Fields | undefined) };
  };

const names = (list: unknown): readonly unknown[] => (list as readonly Fields[]).map(({ name }) => name);

test('a caller without a token reads where to get one', async (t) => {
  const { message, headers } = modern('tools/list');
  const refused = await service.send(message, headers);
  t.is(refused.status, 401);
  const challenge = refused.headers.get('www-authenticate') ?? '';
  const address = /^Bearer resource_metadata="([^"]+)"$/.exec(challenge)?.[1] ?? '';
  t.is(address, `${service.url()}/.well-known/oauth-protected-resource/mcp`, challenge);
  for (const url of [address, address.slice(0, -'/mcp'.length)])
    t.like(await (await fetch(url)).json(), {
      ...{ resource: `${service.url()}/mcp`, authorization_servers: [issuer], bearer_methods_supported: ['header'] },
    });
});

test('a caller sees and calls what agents offer that are theirs, and nothing of others', async (t) => {
  const [ada, bob] = [as('ada', 'typing'), as('bob', 'conforming')];
  t.deepEqual(names((await ada('tools/list'))['tools']), ['typing', 'memory_search', 'memory_store']);
  t.deepEqual((await ada('prompts/list'))['prompts'], []);
  t.true(names((await bob('tools/list'))['tools']).includes('greet'));
  t.is((await ada('tools/call', { name: 'greet', arguments: { name: 'Ada' } })).status, 403);
  t.is((await ada('resources/read', { uri: 'test://static-text' })).status, 403);
  t.is((await ada('prompts/get', { name: 'test_simple_prompt' })).status, 403);
  const { taskId } = await bob('tools/call', { name: 'slow_compute', arguments: { seconds: 30 } });
  for (const other of [ada, as('eve', 'conforming')])
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const { text } = await other(method, { taskId, inputResponses: {} });
      t.regex(text, /there is no such task/, method);
    }
  // The owner alone, but with tokens for another agent.
  t.is((await as('bob', 'typing')('tasks/get', { taskId })).status, 403);
  t.is((await bob('tasks/cancel', { taskId })).status, 200);
});

test("threads of others are no resources, and neither are one's own of an agent that is not allowed", async (t) => {
  const ada = as('ada-of-threads', 'typing');
  const { taskId } = await ada('tools/call', { name: 'typing', arguments: { message: 'a secret' } });
  t.is(typeof taskId, 'string');
  const [{ uri = '' } = {}] = (await ada('resources/list'))['resources'] as readonly { readonly uri?: string }[];
  t.regex(uri, /^threads:/);
  t.regex((await ada('resources/read', { uri })).text, /a secret/);
  const foreign = await as('eve', 'typing')('resources/read', { uri });
  const absent = await as('eve', 'typing')('resources/read', { uri: 'threads://absent' });
  t.is(foreign.text.replaceAll(uri, ''), absent.text.replaceAll('threads://absent', ''));
  const other = as('ada-of-threads', 'conforming');
  t.is((await other('resources/read', { uri })).status, 403);
  t.false((await other('resources/list')).text.includes('threads:'));
});

test('an assistant of a hidden agent is no prompt, and its resources take no subscription', async (t) => {
  const authorization = `Bearer ${tokenOf('cy', 'typing', 'conforming')}`;
  const made = await fetch(`${service.url()}/v1/assistants`, {
    ...{ method: 'POST', headers: { authorization, 'content-type': 'application/json' } },
    body: JSON.stringify({ name: 'helper', description: 'a secret', agent: 'typing' }),
  });
  const { data } = (await made.json()) as { readonly data: { readonly assistant_id: string } };
  const prompt = { name: data.assistant_id, arguments: { message: 'hello' } };
  t.regex((await as('cy', 'typing')('prompts/get', prompt)).text, /a secret/);
  const hidden = await as('cy', 'conforming')('prompts/get', prompt);
  t.is(hidden.status, 403);
  t.false(hidden.text.includes('a secret'));
  const subscribe = (agent: string, uri: string) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } };
    return service.send(message, { authorization: `Bearer ${tokenOf('cy', agent)}` });
  };
  t.like((await subscribe('conforming', 'test://static-text')).messages[0], { result: {} });
  for (const uri of ['test://static-text', 'test://none'])
    t.like((await subscribe('typing', uri)).messages[0], { error: { code: -32_002 } });
});

test('the memory of a caller is searched and stored to by tools, and is that of nobody else', async (t) => {
  const [ada, eve] = [as('ada-of-memory', 'typing'), as('eve-of-memory', 'typing')];
  const stored = await ada('tools/call', { name: 'memory_store', arguments: { content: 'I grow cabbage' } });
  t.is(typeof (stored['structuredContent'] as Fields)['id'], 'string', stored.text);
  const found = await ada('tools/call', { name: 'memory_search', arguments: { query: 'cabbage' } });
  t.like(found['structuredContent'], { memories: [{ content: 'I grow cabbage', category: 'general' }] });
  const none = await eve('tools/call', { name: 'memory_search', arguments: { query: 'cabbage' } });
  t.deepEqual(none['structuredContent'], { memories: [] });
  t.true((await ada('tools/call', { name: 'memory_store' }))['isError']);
});

test('who is no owner goes on with no stream of a call, answers no question of it, and stops it not', async (t) => {
  const headersOf = async (user: string): Promise<Readonly<Record<string, string>>> => {
    const authorization = `Bearer ${tokenOf(user, 'conforming')}`;
    const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } };
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const { headers } = await service.send(message, { authorization });
    const session = headers.get('mcp-session-id') ?? '';
    return { authorization, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  };
  const [ada, eve] = await Promise.all([headersOf('ada-who-asks'), headersOf('eve-who-asks')]);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'test_streaming_elicitation' } };
  const controller = new AbortController();
  const reply = await fetch(`${service.url()}/mcp`, {
    ...{ method: 'POST', body: JSON.stringify(call), signal: controller.signal },
    headers: { 'content-type': 'application/json', ...ada },
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of reply.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    if (text.includes('elicitation/create')) break;
  }
  controller.abort();
  const id = /"id":"([^"]+)","method":"elicitation\/create"/.exec(text)?.[1];
  const eventId = /^id: (.+)$/m.exec(text)?.[1] ?? '';
  const accepted = { jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Eve' } } };
  t.is((await service.send(accepted, eve)).status, 202);
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const stolen = { ...eve, 'mcp-session-id': ada['mcp-session-id'] ?? '' };
  t.is((await service.send(cancel, stolen)).status, 202);
  const follow = (headers: object): Promise<Response> =>
    fetch(`${service.url()}/mcp`, { headers: { ...headers, 'last-event-id': eventId } });
  t.is((await follow(eve)).status, 404);
  t.is((await service.send({ ...accepted, result: { action: 'accept', content: { name: 'Ada' } } }, ada)).status, 202);
  const rest = await (await follow(ada)).text();
  t.regex(rest, /Hello, Ada!/);
  t.notRegex(rest, /Eve/);
});
