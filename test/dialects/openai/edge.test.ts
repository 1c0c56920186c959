import { fileURLToPath } from 'node:url';
import test from 'ava';
import OpenAI from 'openai';
import { openEmbedded } from '../../servers/embedded.ts';
import { agentAt } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { user } from './service.ts';

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));
const page = 'https://page.example';

test('who may use one agent is refused another, by any of the ways to name it', async (t) => {
  await using service = await openEmbedded(
    null,
    { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
    {
      ...{ agents: { support: agentAt('recorded'), office: agentAt('recorded') }, default_agent: 'support' },
      ...{ auth: 'jwt', authorization: `${module}:byAgent` },
    },
  );
  const as = (...agents: readonly string[]): OpenAI => {
    const apiKey = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada', agents } });
    return new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey, maxRetries: 0 });
  };
  const [both, one] = [as('support', 'office'), as('support')];
  const office = await both.responses.create({ model: 'office', input: 'hello' });
  const conversation = await both.conversations.create({});
  await both.responses.create({ model: 'office', input: 'hello', conversation: conversation.id });
  await one.responses.create({ model: 'support', input: 'hello' });
  const refused = { instanceOf: OpenAI.PermissionDeniedError };
  await t.throwsAsync(one.responses.create({ model: 'office', input: 'hello' }), refused);
  await t.throwsAsync(one.chat.completions.create({ model: 'office', messages: [user('hello')] }), refused);
  await t.throwsAsync(one.models.retrieve('office'), refused);
  await t.throwsAsync(one.responses.retrieve(office.id), refused);
  await t.throwsAsync(one.responses.cancel(office.id), refused);
  await t.throwsAsync(one.conversations.retrieve(conversation.id), refused);
  // A thread of another agent does not go on under the name of one that is allowed.
  for (const more of [{ previous_response_id: office.id }, { conversation: conversation.id }])
    await t.throwsAsync(one.responses.create({ model: 'support', input: 'hello', ...more }), {
      instanceOf: OpenAI.BadRequestError,
    });
  const nobody = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
  const error = await t.throwsAsync(nobody.models.list());
  t.like(error, { status: 401, type: 'authentication_error', code: 'invalid_api_key' });
});

test('a page of a listed origin may send what the client sends, and read whether to send it again', async (t) => {
  await using service = await openEmbedded('obedient', { HOST: '127.0.0.1', CORS_ORIGINS: page });
  const asked = 'authorization,content-type,x-stainless-lang,x-stainless-retry-count,openai-organization';
  const preflight = await fetch(`${service.url}/openai/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: { origin: page, 'access-control-request-method': 'POST', 'access-control-request-headers': asked },
  });
  const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(',');
  t.deepEqual(
    asked.split(',').filter((name) => !allowed.includes(name)),
    [],
  );
  const reply = await fetch(`${service.url}/openai/v1/models`, { headers: { origin: page } });
  t.regex(reply.headers.get('access-control-expose-headers') ?? '', /X-Should-Retry/);
});

test('without the dialect its paths are absent, and in the words of the service', async (t) => {
  await using service = await openEmbedded('obedient', { DIALECTS: 'langgraph' });
  const reply = await fetch(`${service.url}/openai/v1/models`);
  t.is(reply.status, 404);
  t.like(await reply.json(), { error: { code: 'RESOURCE_NOT_FOUND' } });
});

test('a stream takes one of the streams that a caller may have, whichever path it is on', async (t) => {
  await using service = await openEmbedded('recorded', { MAX_STREAMS_PER_PRINCIPAL: '1' });
  const client = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
  const slow = { model: 'default', messages: [user('slow')], stream: true as const };
  const controller = new AbortController();
  await client.chat.completions.create(slow, { signal: controller.signal });
  const refused = { instanceOf: OpenAI.RateLimitError };
  const error = await t.throwsAsync(client.chat.completions.create(slow), refused);
  t.like(error, { type: 'rate_limit_error', code: 'rate_limit_exceeded' });
  await t.throwsAsync(client.responses.create({ model: 'default', input: 'hello', stream: true }), refused);
  t.truthy((await client.chat.completions.create({ model: 'default', messages: [user('hello')] })).id);
  controller.abort();
});

test('a request that comes again with its key is one run, and gets the same reply', async (t) => {
  await using service = await openEmbedded('obedient');
  const client = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
  const key = { headers: { 'Idempotency-Key': 'once' } };
  const given = { model: 'default', messages: [user('hello')] };
  const [first, again] = [
    await client.chat.completions.create(given, key),
    await client.chat.completions.create(given, key),
  ];
  t.is(first.id, again.id);
  const before = await client.responses.create({ model: 'default', input: 'one' });
  const next = { model: 'default', input: 'two', previous_response_id: before.id };
  const other = { headers: { 'Idempotency-Key': 'other' } };
  const made = await client.responses.create(next, other);
  t.deepEqual(await client.responses.create(next, other), made);
  const stream = { ...given, stream: true as const };
  const ids = new Set<string>();
  for (const _ of [1, 2])
    for await (const { id } of await client.chat.completions.create(stream, {
      headers: { 'Idempotency-Key': 'streamed' },
    }))
      ids.add(id);
  t.is(ids.size, 1);
});
