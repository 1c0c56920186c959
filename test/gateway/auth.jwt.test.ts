import { createSecretKey } from 'node:crypto';
import { algorithms } from '@agent-workflow/gateway/auth/algorithms';
import test, { type ExecutionContext } from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { addedConfig, createClient, user, type Reply } from '../servers/client.ts';
import { away, openIssuer } from '../servers/issuer.ts';
import { startStandalone, makeWorkspace } from '../servers/standalone.ts';
import { audience, goodClaims, inSeconds, issuer, jwkOf, makeToken, pairFor, pemOf } from '../servers/tokens.ts';

const home = { HOST: '127.0.0.1' };
const secret = 'a secret that is long enough for HS256';
const tokenOf = (claims: Readonly<Record<string, unknown>>): string =>
  makeToken('HS256', secret, { claims: { exp: inSeconds(60), ...claims } });

const withToken = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

async function ping(url: string, token: string): Promise<Reply> {
  return createClient(url).send('GET', '/v1/ping', undefined, withToken(token));
}

/** A service that takes HS256, with issuer and audience unset unless told. */
async function openService(t: ExecutionContext, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const service = await openEmbedded('who', { ...home, JWT_SECRET_KEY: secret, ...env }, { auth: 'jwt' });
  t.teardown(() => service[Symbol.asyncDispose]());
  return service.url;
}

for (const algorithm of algorithms) {
  test(`a token signed with ${algorithm} is let in where that is the algorithm`, async (t) => {
    const symmetric = algorithm.startsWith('HS');
    const pair = symmetric ? undefined : pairFor(algorithm);
    const key = pair?.privateKey ?? createSecretKey(Buffer.from('s'.repeat(64)));
    const url = await openService(t, {
      JWT_ALGORITHM: algorithm,
      JWT_SECRET_KEY: pair ? pemOf(pair.publicKey) : 's'.repeat(64),
    });
    t.is((await ping(url, makeToken(algorithm, key))).status, 200);
  });
}

test('the claims reach the graph, the token does not', async (t) => {
  const url = await openService(t);
  const claims = { user_id: 'ada', email: 'ada@example.test', roles: ['admin'], exp: inSeconds(60) };
  const token = tokenOf(claims);
  const client = createClient(url, withToken(token));
  const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who am I?')] });
  const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
  const reply = messages[0]?.content[0]?.text ?? '';
  t.deepEqual((JSON.parse(reply) as { user: unknown }).user, claims);
  t.false(reply.includes(token));
});

test('a token whose claims are too large does not fit into the headers: 431', async (t) => {
  const url = await openService(t);
  const reply = await fetch(`${url}/v1/ping`, { headers: withToken(tokenOf({ sub: 'cy', note: 'n'.repeat(15_000) })) });
  t.is(reply.status, 431);
  t.like(await reply.json(), { error: { code: 'PAYLOAD_TOO_LARGE' } });
});

test("the claims are in the graph's config over what the body says, which can forge no user", async (t) => {
  const url = await openService(t);
  const claims = { sub: 'cy', locale: 'fr', thread_id: 'theirs', metadata: { a: 1 }, exp: inSeconds(60) };
  const client = createClient(url, withToken(tokenOf(claims)));
  const config = { user_id: 'ada', locale: 'en', mine: null };
  const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who am I?')], config });
  const { messages, meta } = body.data as {
    messages: readonly { content: readonly { text: string }[] }[];
    meta: { thread_id: string };
  };
  const reply = (JSON.parse(messages[0]?.content[0]?.text ?? '') as { config: unknown }).config;
  const defaults = { multitask_strategy: 'enqueue', on_disconnect: 'continue', on_completion: 'keep' };
  t.deepEqual(reply, {
    ...addedConfig,
    ...defaults,
    user_id: 'cy',
    sub: 'cy',
    locale: 'fr',
    mine: null,
    exp: claims.exp,
  });
  t.not(meta.thread_id, 'theirs');
});

test('the owner is user_id, else sub', async (t) => {
  const url = await openService(t);
  const nameIn = async (claims: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const client = createClient(url, withToken(tokenOf(claims)));
    const config = { thread_id: 'mine' };
    await client.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config });
    return (await client.send('GET', '/v1/threads/mine')).body.data['user_id'];
  };
  t.is(await nameIn({ user_id: 'u1', sub: 's1' }), 'u1');
  t.is(await nameIn({ user_id: null, sub: 's1' }), 's1');
  t.is(await nameIn({ sub: 's1' }), 's1');
  t.is(await nameIn({ user_id: 42 }), '42');
});

test('ids that look alike, or like an owner key of the service, are owners of their own', async (t) => {
  const url = await openService(t);
  const ids = ['alice', 'Alice', 'аlice', 'ａlice', 'u:alice', 'anon', 'null', 'é', 'e\u0301', '%61lice', "'; --", '0'];
  const clients = ids.map((id) => createClient(url, withToken(tokenOf({ sub: id }))));
  for (const [index, client] of clients.entries()) {
    const config = { thread_id: 'diary', thread_name: `of ${index}` };
    await client.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config });
  }
  for (const [index, client] of clients.entries()) {
    const { threads } = (await client.send('GET', '/v1/threads')).body.data as {
      threads: readonly { thread_name: string; user_id: string }[];
    };
    t.deepEqual(
      threads.map(({ thread_name, user_id }) => [thread_name, user_id]),
      [[`of ${index}`, ids[index]]],
    );
  }
});

test('the clock of the issuer may be half a minute ahead, and a token ends at its second', async (t) => {
  const url = await openService(t);
  const status = async (claims: Readonly<Record<string, unknown>>): Promise<number> =>
    (await ping(url, tokenOf({ sub: 'ada', ...claims }))).status;
  t.is(await status({ exp: inSeconds(0) }), 401);
  t.is(await status({ exp: Date.now() / 1000 }), 401);
  t.is(await status({ exp: inSeconds(-1) }), 401);
  t.is(await status({ exp: inSeconds(-20) }), 401);
  t.is(await status({ nbf: inSeconds(20) }), 200);
  t.is(await status({ nbf: inSeconds(40) }), 401);
  t.is(await status({ iat: inSeconds(20) }), 200);
  t.is(await status({ iat: inSeconds(40) }), 401);
  t.is(await status({ exp: Date.now() / 1000 + 60.5, iat: 0, nbf: 1.5 }), 200);
});

test('the operator says for how long an expired token is still taken', async (t) => {
  const url = await openService(t, { JWT_EXP_TOLERANCE_SECONDS: '300' });
  const status = async (seconds: number): Promise<number> =>
    (await ping(url, tokenOf({ sub: 'ada', exp: inSeconds(seconds) }))).status;
  t.is(await status(-200), 200);
  t.is(await status(-300), 401);
  const nbf = tokenOf({ sub: 'ada', nbf: inSeconds(40) });
  t.is((await ping(url, nbf)).status, 401);
  for (const given of ['-1', '301', '1.5'])
    await t.throwsAsync(
      openEmbedded('who', { ...home, JWT_SECRET_KEY: secret, JWT_EXP_TOLERANCE_SECONDS: given }, { auth: 'jwt' }),
      {
        message: /JWT_EXP_TOLERANCE_SECONDS/,
      },
    );
});

test('claims nested deeper than a body may be are 401, and so is the key __proto__', async (t) => {
  const url = await openService(t);
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  const status = async (note: unknown): Promise<number> => (await ping(url, tokenOf({ sub: 'ada', note }))).status;
  t.is(await status(nested(127)), 200);
  t.is(await status(nested(128)), 401);
  t.is(await status(JSON.parse('{"__proto__":{"a":1}}')), 401);
});

test('no body gives its caller a role, a mail address or a scope that the token does not', async (t) => {
  const client = createClient(await openService(t), withToken(tokenOf({ sub: 'cy', scope: 'read' })));
  const config = { role: 'admin', roles: ['admin'], email: 'ada@example.test', scope: 'all', sub: 'ada', mine: 1 };
  const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who am I?')], config });
  const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
  const seen = (JSON.parse(messages[0]?.content[0]?.text ?? '') as { config: Record<string, unknown> }).config;
  t.like(seen, { sub: 'cy', scope: 'read', user_id: 'cy', mine: 1 });
  for (const name of ['role', 'roles', 'email']) t.false(Object.hasOwn(seen, name), name);
});

test('issuer and audience count when they are set, the audience also among others', async (t) => {
  const url = await openService(t, { JWT_ISSUER: issuer, JWT_AUDIENCE: audience });
  const status = async (claims: Readonly<Record<string, unknown>>): Promise<number> =>
    (await ping(url, tokenOf(goodClaims(claims)))).status;
  t.is(await status({}), 200);
  t.is(await status({ aud: ['other', audience] }), 200);
  t.is(await status({ aud: ['other'] }), 401);
  t.is(await status({ iss: 'https://other.test/' }), 401);
});

test('the scheme is read in any case, and typ may be absent or that of an access token', async (t) => {
  const url = await openService(t);
  const plain = tokenOf({ sub: 'ada' });
  for (const authorization of [`bearer ${plain}`, `BEARER ${plain}`, `Bearer  ${plain}`]) {
    t.is((await createClient(url).send('GET', '/v1/ping', undefined, { authorization })).status, 200, authorization);
  }
  for (const typ of [undefined, 'jwt', 'at+jwt', 'application/at+jwt']) {
    const header = { alg: 'HS256', ...(typ && { typ }) };
    t.is((await ping(url, makeToken('HS256', secret, { header }))).status, 200, typ);
  }
});

test('without a token: 401 that asks for one; the open paths ask for none', async (t) => {
  const url = await openService(t);
  const { status, headers, body } = await createClient(url).send('GET', '/v1/threads');
  t.is(status, 401);
  t.is(headers.get('www-authenticate'), 'Bearer');
  t.like(body, { error: { code: 'AUTHENTICATION_FAILED', message: 'a bearer token is needed' } } as never);
  for (const path of ['/healthz', '/readyz', '/openapi.json']) t.is((await fetch(`${url}${path}`)).status, 200, path);
  t.is((await fetch(`${url}/v1/nothing`)).status, 401, 'nobody learns what paths there are');
});

test('keys that the issuer publishes are taken, rotated without a restart, and kept when it is unavailable', async (t) => {
  const [old, fresh] = [pairFor('ES256'), pairFor('ES256')];
  await using keys = await openIssuer(jwkOf(old.publicKey, { kid: 'old', use: 'sig' }));
  const url = await openService(t, {
    ...{ JWT_ALGORITHM: 'ES256', JWT_SECRET_KEY: '', JWT_JWKS_URL: keys.keysUrl },
    // On a slow machine a read may take longer than usual, and the test longer than a cool-down: neither is a reason to ask again.
    ...{ AUTH_TIMEOUT_MS: '600000', JWT_JWKS_COOLDOWN_SECONDS: '86400', JWT_JWKS_MAX_AGE_SECONDS: '86400' },
  });
  const token = (pair: typeof old, kid: string): string =>
    makeToken('ES256', pair.privateKey, { header: { alg: 'ES256', kid } });
  t.is((await ping(url, token(old, 'old'))).status, 200);
  t.is((await ping(url, token(fresh, 'old'))).status, 401);
  const otherwise = makeToken('HS256', secret, { header: { alg: 'HS256', kid: 'made-up' } });
  t.is((await ping(url, otherwise)).status, 401, 'what no key could verify asks for none');
  t.true(keys.requests.length <= 1);

  keys.publish(jwkOf(fresh.publicKey, { kid: 'fresh' }), jwkOf(old.publicKey, { kid: 'old' }));
  t.is((await ping(url, token(fresh, 'fresh'))).status, 200);
  t.is((await ping(url, token(old, 'old'))).status, 200);
  for (let count = 0; count < 20; count += 1) t.is((await ping(url, token(fresh, `made-up-${count}`))).status, 401);
  t.true(keys.requests.length <= 2, 'within the cool-down nothing more is asked');

  keys.answer(away);
  t.is((await ping(url, token(fresh, 'fresh'))).status, 200);
});

test('while no keys could ever be read, callers are told to come back', async (t) => {
  const pair = pairFor('ES256');
  await using keys = await openIssuer();
  keys.answer(away);
  const url = await openService(t, {
    JWT_ALGORITHM: 'ES256',
    JWT_SECRET_KEY: '',
    JWT_JWKS_URL: keys.keysUrl,
  });
  const token = makeToken('ES256', pair.privateKey, { header: { alg: 'ES256', kid: 'a' } });
  const { status, headers, body } = await ping(url, token);
  t.is(status, 503);
  t.true(Number(headers.get('retry-after')) >= 1);
  t.false(JSON.stringify(body).includes('127.0.0.1'), 'where the keys are is not told');
  keys.publish(jwkOf(pair.publicKey, { kid: 'a' }));
  while ((await ping(url, token)).status === 503) t.true(keys.requests.length < 10);
  t.is((await ping(url, token)).status, 200);
});

test('a start says what is open to whom, and how many threads nobody can reach any more; no secret, no token', async (t) => {
  await using before = await makeWorkspace('who');
  const open = await startStandalone(before.env);
  t.true(
    open.lines.includes(
      'auth: none, everyone on this machine is let in as one; authorization: none, everyone who is let in may use everything',
    ),
  );
  for (const thread_id of ['a', 'b']) {
    await createClient(open.url).send('POST', '/v1/graph/invoke', { messages: [user('x')], config: { thread_id } });
  }
  await open.stop('SIGTERM');

  await using after = await makeWorkspace('who', { auth: 'jwt' });
  const env = { ...home, ...after.env, DATA_DIR: String(before.env['DATA_DIR']), JWT_SECRET_KEY: secret };
  await using closed = await startStandalone({ ...env, LOG_LEVEL: 'trace' });
  t.true(
    closed.lines.includes(
      'auth: jwt (HS256, key from JWT_SECRET_KEY, issuer any, audience any); authorization: none, every signed-in user may use everything; anonymous threads: 2',
    ),
    closed.lines.join('\n'),
  );
  const token = tokenOf({ sub: 'ada' });
  t.is((await ping(closed.url, token)).status, 200);
  t.is((await ping(closed.url, `${token}x`)).status, 401);
  t.false(closed.lines.some((line) => line.includes(secret) || line.includes(token.slice(0, 30))));
});
