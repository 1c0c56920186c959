import test, { type ExecutionContext } from 'ava';
import { openEmbedded } from '../../servers/embedded.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';

const secret = 's'.repeat(32);
const page = 'https://app.example.com';
const token = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada' } });

async function open(t: ExecutionContext): Promise<string> {
  const env = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, CORS_ORIGINS: page };
  const { url, ...opened } = await openEmbedded('obedient', env, { auth: 'jwt' });
  t.teardown(() => opened[Symbol.asyncDispose]());
  return url;
}

test('x-api-key is a bearer token on the paths of this dialect alone, where there is no other', async (t) => {
  const url = await open(t);
  const statusOf = async (path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(`${url}${path}`, { headers })).status;
  t.is(await statusOf('/langgraph/ok', {}), 401);
  t.is(await statusOf('/langgraph/ok', { 'x-api-key': token }), 200);
  t.is(await statusOf('/langgraph/ok', { 'x-api-key': 'nonsense' }), 401);
  t.is(await statusOf('/langgraph/ok', { 'x-api-key': 'nonsense', authorization: `Bearer ${token}` }), 200);
  t.is(await statusOf('/langgraph/ok', { 'x-api-key': token, authorization: 'Bearer nonsense' }), 401);
  t.is(await statusOf('/v1/ping', { 'x-api-key': token }), 401);
});

test('pages of allowed origins send and read the headers of this dialect on its paths alone', async (t) => {
  const url = await open(t);
  const headersOf = async (path: string, method: string, name: string): Promise<string> => {
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' };
    const headers = { origin: page, authorization: `Bearer ${token}`, ...(method === 'OPTIONS' && asked) };
    return (await fetch(`${url}${path}`, { method, headers })).headers.get(`access-control-${name}`) ?? '';
  };
  t.regex(await headersOf('/langgraph/threads', 'OPTIONS', 'allow-headers'), /Authorization.*X-Api-Key/);
  t.regex(await headersOf('/langgraph/ok', 'GET', 'expose-headers'), /Location,Content-Location,X-Pagination-Total/);
  t.notRegex(await headersOf('/v1/threads', 'OPTIONS', 'allow-headers'), /X-Api-Key/);
  t.notRegex(await headersOf('/v1/ping', 'GET', 'expose-headers'), /Content-Location/);
});

test('the dialect is off where none is named, and another name stops the start', async (t) => {
  const { url, ...opened } = await openEmbedded('obedient', { HOST: '127.0.0.1', DIALECTS: 'none' });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const { status, body } = await fetch(`${url}/langgraph/ok`).then(async (reply) => ({
    status: reply.status,
    body: await reply.text(),
  }));
  t.is(status, 404);
  t.true(body.includes('RESOURCE_NOT_FOUND'));
  await t.throwsAsync(openEmbedded('obedient', { DIALECTS: 'langgraph,other' }), {
    message: /DIALECTS must be none, or names of a2a, agui, langgraph, mcp, openai/,
  });
});
