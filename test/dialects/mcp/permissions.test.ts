import { fileURLToPath } from 'node:url';
import test from 'ava';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { modern, serveMcp, tasks } from './service.ts';

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));
const service = serveMcp(
  test,
  { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, MCP_MEMORY_TOOLS: 'on' },
  { auth: 'jwt', authorization: `${module}:readsOnly` },
);

const authorization = `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada' } })}`;

const statusOf = async (method: string, params: Readonly<Record<string, unknown>> = {}): Promise<number> => {
  const { message, headers } = modern(method, params, tasks);
  return (await service.send(message, { ...headers, authorization })).status;
};

test('who may only read lists what there is, and starts, answers and stops nothing', async (t) => {
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
    t.is(await statusOf(method), 200, method);
  t.is(await statusOf('tools/call', { name: 'greet', arguments: { name: 'Ada' } }), 403);
  t.is(await statusOf('tools/call', { name: 'slow_compute' }), 403);
  t.is(await statusOf('resources/read', { uri: 'test://static-text' }), 403);
  t.is(await statusOf('prompts/get', { name: 'test_simple_prompt' }), 403);
  t.is(await statusOf('tools/call', { name: 'memory_store', arguments: { content: 'a' } }), 403);
  t.is(await statusOf('tools/call', { name: 'memory_search', arguments: { query: 'a' } }), 200);
  const notified = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  t.is((await service.send(notified, { authorization })).status, 202);
});
