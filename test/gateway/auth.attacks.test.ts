import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { algorithms } from '@agent-workflow/gateway/auth/algorithms';
import test from 'ava';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';
import { openIssuer, type Issuer } from '../servers/issuer.ts';
import { audience, goodClaims, issuer, jwkOf, makeToken } from '../servers/tokens.ts';
import { attacks, bearer, good, keyOf, own, rs256, rsa, signerOf, foreignKeys } from './forged-tokens.ts';

let service: Embedded;
let issued: Issuer;
/** Stands for every address that a token can name. */
let foreign: Issuer;
const outgoing: string[] = [];
const noteOutgoing = (message: unknown): void => {
  const { request } = message as { readonly request: { readonly origin?: unknown; readonly path?: unknown } };
  outgoing.push(`${String(request.origin)}${String(request.path)}`);
};

test.before(async () => {
  subscribe('undici:request:create', noteOutgoing);
  subscribe('http.client.request.start', noteOutgoing);
  issued = await openIssuer(jwkOf(rsa.publicKey, { kid: 'key-1', use: 'sig', alg: 'RS256' }));
  foreign = await openIssuer(jwkOf(foreignKeys.publicKey, { kid: 'key-1', use: 'sig', alg: 'RS256' }));
  const env = {
    HOST: '127.0.0.1',
    RATE_LIMIT_AUTH_FAILURES: '0',
    JWT_ALGORITHM: 'RS256',
    JWT_JWKS_URL: issued.keysUrl,
    JWT_ISSUER: issuer,
    JWT_AUDIENCE: audience,
  };
  service = await openEmbedded('echo', env, { auth: 'jwt' });
});

test.after.always(async () => {
  unsubscribe('undici:request:create', noteOutgoing);
  unsubscribe('http.client.request.start', noteOutgoing);
  await service[Symbol.asyncDispose]();
  await issued[Symbol.asyncDispose]();
  await foreign[Symbol.asyncDispose]();
});

interface Reported {
  readonly status: number;
  readonly challenge: string | undefined;
  readonly body: string;
}

/** Sends these header lines as they are; clients of a library would mend or refuse some of them. */
async function knock(lines: string, url = service.url, path = '/v1/threads'): Promise<Reported> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n\r\n`, 'latin1');
  const reply = await text(socket);
  return {
    status: Number(reply.slice(9, 12)),
    challenge: /^www-authenticate: (.*)\r$/im.exec(reply)?.[1],
    body: reply.slice(reply.indexOf('\r\n\r\n') + 4),
  };
}

test.serial('the good token, of which every attack is a change, is let in', async (t) => {
  t.is((await knock(bearer(good))).status, 200);
  t.is(
    (await knock(bearer(own(goodClaims(), { ...rs256, jku: foreign.keysUrl })))).status,
    200,
    'jku is not looked at',
  );
});

test('the corpus is as large as it is said to be', (t) => {
  t.true(attacks.length >= 120, String(attacks.length));
  t.is(new Set(attacks.map(([what]) => what)).size, attacks.length);
});

for (const [what, lines] of attacks) {
  test(`401: ${what}`, async (t) => {
    const given = typeof lines === 'string' ? lines : lines({ issued, foreign });
    const { status, challenge, body } = await knock(given);
    t.is(status, 401, body);
    t.is(challenge, /^authorization: *\S/im.test(given) ? 'Bearer error="invalid_token"' : challenge);
    t.regex(challenge ?? '', /^Bearer( error="invalid_token")?$/);
    const { error } = JSON.parse(body) as { error: unknown };
    const message = body.includes('"message":"a bearer') ? 'a bearer token is needed' : 'the token is not valid';
    t.deepEqual(error, { code: 'AUTHENTICATION_FAILED', message, details: [] });
  });
}

for (const path of ['', 'access_token', 'token', 'jwt', 'authorization', 'ticket']) {
  test(`401: the token in the query as ${path || 'nothing'}`, async (t) => {
    t.is((await knock('X-Other: x', service.url, `/v1/threads?${path}=${good}`)).status, 401);
  });
}

test('431: a token larger than headers may be', async (t) => {
  t.is((await knock(bearer(own(goodClaims({ fill: 'x'.repeat(20_000) }))))).status, 431);
  t.is((await knock(bearer('A'.repeat(100_000)))).status, 431);
});

for (const pinned of algorithms) {
  test(`where ${pinned} is the algorithm, tokens signed with the issuer's keys by any other are 401`, async (t) => {
    const keyName = pinned.startsWith('HS') ? 'JWT_SECRET_KEY' : 'JWT_PUBLIC_KEY';
    const env = { HOST: '127.0.0.1', JWT_ALGORITHM: pinned, [keyName]: keyOf(pinned) };
    await using other = await openEmbedded('echo', env, { auth: 'jwt' });
    for (const algorithm of algorithms) {
      const { status } = await knock(bearer(makeToken(algorithm, signerOf(algorithm))), other.url);
      t.is(status, algorithm === pinned ? 200 : 401, algorithm);
      if (algorithm === pinned) continue;
      const posing = makeToken(algorithm, signerOf(algorithm), { header: { alg: pinned, typ: 'JWT' } });
      t.is((await knock(bearer(posing), other.url)).status, 401, `${algorithm} that says ${pinned}`);
    }
    if (keyName === 'JWT_SECRET_KEY') return;
    for (const key of [keyOf(pinned), keyOf(pinned).trim()]) {
      for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
        t.is(
          (await knock(bearer(makeToken(algorithm, key)), other.url)).status,
          401,
          `${algorithm} with the public key`,
        );
      }
    }
  });
}

test.after('nothing but the keys of the issuer was ever fetched', (t) => {
  t.deepEqual(foreign.requests, []);
  t.deepEqual([...new Set(issued.requests)], ['GET /keys.json']);
  t.true(issued.requests.length <= 3, String(issued.requests.length));
  // What has no origin went to a socket of this machine: the tests get their servers there.
  t.deepEqual([...new Set(outgoing.filter((url) => !url.startsWith('undefined/')))], [issued.keysUrl]);
});
