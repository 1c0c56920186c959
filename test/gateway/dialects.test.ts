import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { dialects } from '@agent-workflow/gateway/dialects';
import { createIdempotency, openInProcessReplyCache } from '@agent-workflow/gateway/idempotency';
import { notFound } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { byAgent } from '../backends/authorization.ts';
import { echo, echoId } from '../dialects/echo.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { twoAgents } from '../http/two-agents.ts';

/** A dialect beside ours, of another shape in everything, has all that is the gateway's without a line of its own. */

const secret = 's'.repeat(32);
const authorization = `${fileURLToPath(new URL('../backends/authorization.ts', import.meta.url))}:byAgent`;
const env = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret };

const as = (userId: string, ...agents: readonly string[]): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: userId, agents } })}`,
});
const ada = as('ada', 'support', 'office');

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

type Send = (
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

async function open(
  t: ExecutionContext,
  more: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, string>> = { authorization },
): Promise<{ readonly send: Send }> {
  const { url, ...opened } = await openEmbedded(null, { ...env, ...more }, { ...twoAgents, auth: 'jwt', ...service }, [
    ...dialects,
    echo,
  ]);
  t.teardown(() => opened[Symbol.asyncDispose]());
  const send: Send = async (method, path, body, headers = ada) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = text.startsWith('{');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? (JSON.parse(text) as Answer['body']) : {},
    };
  };
  return { send };
}

/** The run that was started, as the echo names it. */
async function started(send: Send, body: object, headers?: Readonly<Record<string, string>>): Promise<string> {
  const { status, body: reply } = await send('POST', '/echo/runs', body, { ...ada, ...headers });
  if (status !== 201) throw new Error(JSON.stringify(reply));
  return String(reply['echo']);
}

test('a success has the envelope of its dialect', async (t) => {
  const { send } = await open(t);
  const { text, headers } = await send('GET', '/echo/hello');
  t.is(text, `{"echo":"hello","of":"${headers.get('x-request-id') ?? ''}"}`);
  t.is((await send('GET', '/v1/ping')).body['data'], 'pong');
});

test('a refusal has status, headers and words of the dialect of its path, at whatever step it comes', async (t) => {
  const { send } = await open(t);
  const oops = async (status: number, code: string, asked: Promise<Answer>): Promise<Answer> => {
    const answer = await asked;
    t.deepEqual([answer.status, answer.headers.get('x-oops'), answer.body['oops']], [status, code, code], answer.text);
    t.is(answer.headers.get('content-type'), 'application/echo-oops');
    t.is(answer.body['of'], answer.headers.get('x-request-id'));
    return answer;
  };
  const challenged = await oops(401, 'Unauthenticated', send('GET', '/echo/hello', undefined, {}));
  t.is(challenged.headers.get('www-authenticate'), 'Bearer');
  await oops(404, 'NotFound', send('GET', '/echo/nowhere'));
  await oops(404, 'NotFound', send('GET', `/echo/threads/${echoId('nobodys')}`));
  t.is((await oops(405, 'MethodNotAllowed', send('PUT', '/echo/hello', {}))).headers.get('allow'), 'GET, HEAD');
  const plain = { ...ada, 'content-type': 'text/plain' };
  await oops(415, 'UnsupportedMediaType', send('POST', '/echo/runs', { text: 'hello' }, plain));
  await oops(414, 'TooLarge', send('GET', `/echo/hello?${'x'.repeat(9000)}`));
  // The gateway has 422 for it.
  const invalid = await oops(400, 'Invalid', send('POST', '/echo/runs', { text: '' }));
  t.deepEqual(invalid.body['where'], ['body/text']);
  await oops(400, 'Invalid', send('GET', '/echo/hello?unknown=1'));
  await oops(
    403,
    'PermissionDenied',
    send('POST', '/echo/runs', { text: 'hello', to: 'office' }, as('eve', 'support')),
  );
  const elsewhere = await send('GET', '/echoes');
  t.like(elsewhere.body['error'], { code: 'RESOURCE_NOT_FOUND' }, 'paths of no dialect are answered in the first one');
});

test('one run is followed in the framing of each dialect, at the same time', async (t) => {
  const { send } = await open(t);
  const run = await started(send, { text: 'one two three' });
  const runId = run.slice(echoId('').length);
  const [echoed, ours] = await Promise.all([send('GET', `/echo/runs/${run}`), send('GET', `/v1/runs/${runId}/stream`)]);
  t.is(echoed.headers.get('content-type'), 'application/echo-lines');
  t.is(ours.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const lines = echoed.text.trimEnd().split('\n');
  const frames = ours.text.trimEnd().split('\n\n');
  t.is(lines.length, frames.length);
  t.true(lines.every((line, index) => line.startsWith(`${run} ${String(index + 1)} {"`)));
  t.true(lines.at(-1)?.includes('{"on_chain_end":{'));
  t.true(frames.every((frame) => frame.startsWith(`id: ${runId}:`)));
  const shouted = await send('POST', '/echo/shout', { text: 'hello' });
  t.regex(shouted.text, /^echo~\S+ 1 \{"metadata":/);
  t.is(shouted.headers.get('x-accel-buffering'), 'no');
});

test('ids are read as the dialect writes them, by routes and by tickets', async (t) => {
  const { send } = await open(t);
  const run = await started(send, { text: 'hello', in: echoId('garden') });
  const runId = run.slice(echoId('').length);
  t.is((await send('GET', `/echo/threads/${echoId('garden')}`)).body['echo'], echoId('garden'));
  t.is((await send('GET', '/echo/threads/garden')).status, 404);
  t.is((await send('GET', '/v1/threads/garden')).status, 200);
  const made = await send('POST', `/v1/runs/${runId}/ticket`, {});
  const { ticket } = made.body['data'] as { ticket: string };
  t.is((await send('GET', `/echo/runs/${run}?ticket=${ticket}`, undefined, {})).status, 200);
  const other = await started(send, { text: 'hello' });
  t.is(
    (await send('GET', `/echo/runs/${other}?ticket=${ticket}`, undefined, {})).headers.get('x-oops'),
    'Unauthenticated',
  );
});

test('a key makes a change of any dialect safe to repeat', async (t) => {
  const { send } = await open(t, {}, {});
  const keyed = { 'idempotency-key': 'one' };
  const body = { text: 'hello', in: echoId('once') };
  const first = await started(send, body, keyed);
  t.is(await started(send, body, keyed), first);
  const other = await send('POST', '/echo/runs', { text: 'bye' }, { ...ada, ...keyed });
  t.deepEqual([other.status, other.body['oops']], [400, 'Invalid']);
  const refused = await send(
    'POST',
    '/echo/runs',
    { text: 'hello', to: 'nobody' },
    { ...as('ada', 'nobody'), 'idempotency-key': 'two' },
  );
  t.is(refused.headers.get('x-oops'), 'NotFound', refused.text);

  const erase = { ...ada, 'idempotency-key': 'three' };
  const path = `/echo/threads/${echoId('once')}`;
  t.is((await send('DELETE', path, undefined, erase)).body['echo'], 'gone');
  t.is((await send('DELETE', path, undefined, erase)).body['echo'], 'gone');
  const { status, headers } = await send('DELETE', path);
  t.deepEqual([status, headers.get('x-oops')], [404, 'NotFound']);
});

test('a deletion that was done before its reply was lost is answered so in the words of each dialect', async (t) => {
  const store = openSqliteThreadStore({ path: ':memory:' });
  t.teardown(() => store[Symbol.asyncDispose]());
  const threads = link(createThreads({ store }));
  const runIdempotently = createIdempotency({ threads, memory: {} as never }, openInProcessReplyCache());
  const call = () => within(10_000);
  const repeated = async (dialect: object, key: string): Promise<unknown> => {
    const begun = { owner: 'ada', onceKey: key, bodyHash: 'hash' };
    await threads.beginOnce(begun, call());
    const ctx = { method: 'DELETE', state: { principal: { owner: 'ada' }, dialect } } as never;
    const nothing = (): Promise<never> => Promise.reject(notFound('there is no such thread'));
    return runIdempotently(ctx, { key, bodyHash: 'hash', startsRun: false }, call, nothing);
  };
  const keys = ['019c2f6e-9200-8a10-8000-3b5c9d1e7f24', '019c2f6e-9200-8a10-8000-3b5c9d1e7f25'] as const;
  t.deepEqual(await Promise.all([repeated(echo, keys[0]), repeated(dialects[0], keys[1])]), [
    '"gone before"',
    '{"success":true}',
  ]);
});

test('authorization is asked about the agent and the thread that an input of any dialect names', async (t) => {
  const { send } = await open(t);
  const askedOf = (id: string) =>
    byAgent.asked.filter((asked) => asked.user['user_id'] === id).map(({ subject }) => subject);
  const office = as('ben', 'office', 'support');
  t.is((await send('POST', '/echo/runs', { text: 'hello', to: 'office', in: echoId('desk') }, office)).status, 201);
  t.deepEqual(askedOf('ben'), [{ agent: 'office', thread_id: 'desk' }]);
});

test('the rate of requests counts what is asked in any dialect', async (t) => {
  const { send } = await open(t, { RATE_LIMIT_REQUESTS: '2' });
  await send('GET', '/v1/ping');
  await send('GET', '/echo/hello');
  const refused = await send('GET', '/echo/hello');
  t.deepEqual([refused.status, refused.body['oops']], [429, 'RateLimited']);
  t.truthy(refused.headers.get('retry-after'));
});

test('each dialect has a document of its own', async (t) => {
  const { send } = await open(t);
  const { text } = await send('GET', '/openapi.json');
  t.true(text.includes('"/v1/ping"'));
  t.false(text.includes('/echo'));
  const { body } = await send('GET', '/echo/about');
  t.deepEqual(body, { echoes: echo.rows.map(({ path }) => path), secured: true });
});
