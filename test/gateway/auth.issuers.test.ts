import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Reply } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { openIssuer, type Issuer } from '../servers/issuer.ts';
import {
  audience,
  ecPair,
  goodClaims,
  issuer as ownIssuer,
  jwkOf,
  makeToken,
  pemOf,
  rsaPair,
} from '../servers/tokens.ts';
import { until } from '../until.ts';

/** Node takes key pairs long to make. */
const [rsa, ec, newer] = [rsaPair(), ecPair('P-256'), ecPair('P-256')];
const secret = 'a secret that is long enough for HS256';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An issuer that describes itself, and whose keys are elsewhere on its server. */
interface Described extends Issuer {
  /** Its `iss`. */
  readonly name: string;
}

async function openDescribed(t: ExecutionContext, keys: readonly unknown[], path = ''): Promise<Described> {
  const issuer = await openIssuer();
  t.teardown(() => issuer[Symbol.asyncDispose]());
  const name = `${issuer.url}${path}`;
  issuer.answer(describing({ issuer: name, jwks_uri: issuer.keysUrl }, keys));
  return { ...issuer, name };
}

const describing =
  (description: unknown, keys: readonly unknown[]): Answer =>
  ({ url = '' }, response) =>
    response.end(JSON.stringify(url.endsWith('/.well-known/openid-configuration') ? description : { keys }));

interface Entry {
  readonly issuer: string;
  readonly audience?: string | readonly string[];
  readonly algorithms?: readonly string[];
  readonly owner_prefix?: string;
  readonly jwks_url?: string;
  readonly roles?: readonly string[] | '*';
}

const toEntry = (entry: Entry): Entry => ({ audience, algorithms: ['ES256'], ...entry });

async function openService(
  t: ExecutionContext,
  entries: readonly Entry[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const list = JSON.stringify(entries.map(toEntry));
  const service = await openEmbedded('who', { HOST: '127.0.0.1', JWT_ISSUERS: list, ...env }, { auth: 'jwt' });
  t.teardown(() => service[Symbol.asyncDispose]());
  return service.url;
}

const ping = (url: string, token: string): Promise<Reply> =>
  createClient(url, { authorization: `Bearer ${token}` }).send('GET', '/v1/ping');

const signed = (key: KeyObject, claims: object, kid?: string): string =>
  makeToken('ES256', key, {
    header: { alg: 'ES256', ...(kid !== undefined && { kid }) },
    claims: goodClaims(claims as Record<string, unknown>),
  });

test('an issuer says itself where its keys are, and its tokens are taken', async (t) => {
  const issuer = await openDescribed(t, [jwkOf(ec.publicKey, { kid: 'a' })], '/realms/team');
  const url = await openService(t, [{ issuer: issuer.name, owner_prefix: 'team' }]);
  t.is((await ping(url, signed(ec.privateKey, { iss: issuer.name }, 'a'))).status, 200);
  t.deepEqual(issuer.requests, ['GET /realms/team/.well-known/openid-configuration', 'GET /keys.json']);
});

test('two issuers with one subject are two owners, and neither finds what the other has', async (t) => {
  const [one, other] = [
    await openDescribed(t, [jwkOf(ec.publicKey)]),
    await openDescribed(t, [jwkOf(newer.publicKey)]),
  ];
  const url = await openService(
    t,
    [
      { issuer: one.name, owner_prefix: 'one' },
      { issuer: other.name, owner_prefix: 'other' },
    ],
    { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: pemOf(rsa.publicKey), JWT_ISSUER: ownIssuer, JWT_AUDIENCE: audience },
  );
  const tokens = {
    'one:ada': signed(ec.privateKey, { iss: one.name }),
    'other:ada': signed(newer.privateKey, { iss: other.name }),
    ada: makeToken('RS256', rsa.privateKey),
  };
  for (const [owner, token] of Object.entries(tokens)) {
    const client = createClient(url, { authorization: `Bearer ${token}` });
    const config = { thread_id: `of ${owner}` };
    const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who am I?')], config });
    const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
    const seen = JSON.parse(messages[0]?.content[0]?.text ?? '') as { user: { user_id: string }; config: object };
    t.is(seen.user.user_id, owner);
    t.like(seen.config, { user_id: owner });
    const { threads } = (await client.send('GET', '/v1/threads')).body.data as { threads: readonly object[] };
    t.is(threads.length, 1);
    t.like(threads[0], { thread_id: `of ${owner}`, user_id: owner });
  }
});

test('no id of one issuer is that of a user of another: not by a prefix in it, and not by a number', async (t) => {
  const issuer = await openDescribed(t, [jwkOf(ec.publicKey)]);
  const url = await openService(t, [{ issuer: issuer.name, owner_prefix: 'team' }], {
    ...{ JWT_SECRET_KEY: secret, JWT_ISSUER: ownIssuer, JWT_AUDIENCE: audience },
  });
  const own = (user_id: unknown): Promise<Reply> =>
    ping(url, makeToken('HS256', secret, { claims: goodClaims({ user_id }) }));
  t.is((await own('team:ada')).status, 401);
  t.is((await own('teams:ada')).status, 200);
  t.is((await own(7)).status, 200);
  t.is((await ping(url, signed(ec.privateKey, { iss: issuer.name, user_id: 'n'.repeat(251) }))).status, 200);
  t.is((await ping(url, signed(ec.privateKey, { iss: issuer.name, user_id: 'n'.repeat(252) }))).status, 401);
});

test('a token counts for its own issuer alone: key, algorithm and audience of another one do not help', async (t) => {
  const one = await openDescribed(t, [jwkOf(ec.publicKey, { kid: 'k' })]);
  const other = await openDescribed(t, [jwkOf(rsa.publicKey, { kid: 'k' }), jwkOf(newer.publicKey, { kid: 'n' })]);
  const url = await openService(
    t,
    [
      { issuer: one.name, audience: 'one', owner_prefix: 'one' },
      { issuer: other.name, audience: ['other', 'more'], algorithms: ['RS256', 'ES256'], owner_prefix: 'other' },
    ],
    { JWT_SECRET_KEY: secret, JWT_ISSUER: ownIssuer },
  );
  const status = async (token: string): Promise<number> => (await ping(url, token)).status;
  const byRsa = (claims: object): string =>
    makeToken('RS256', rsa.privateKey, {
      header: { alg: 'RS256', kid: 'k' },
      claims: goodClaims(claims as Record<string, unknown>),
    });
  t.is(await status(signed(ec.privateKey, { iss: one.name, aud: 'one' }, 'k')), 200);
  t.is(await status(byRsa({ iss: other.name, aud: 'other' })), 200);
  t.is(await status(byRsa({ iss: other.name, aud: ['elsewhere', 'more'] })), 200);
  t.is(await status(signed(newer.privateKey, { iss: other.name, aud: 'other' }, 'n')), 200);

  t.is(await status(signed(ec.privateKey, { iss: other.name, aud: 'other' }, 'k')), 401, 'the key of another');
  t.is(await status(byRsa({ iss: one.name, aud: 'one' })), 401, 'the algorithm of another');
  t.is(await status(signed(ec.privateKey, { iss: one.name, aud: 'other' }, 'k')), 401, 'the audience of another');
  t.is(await status(signed(ec.privateKey, { iss: one.name, aud: ['elsewhere'] }, 'k')), 401);
  t.is(await status(signed(ec.privateKey, { iss: one.name, aud: undefined }, 'k')), 401);
  t.is(await status(byRsa({ iss: ownIssuer })), 401);
  // A public key as the secret of an HMAC, and no signature at all.
  for (const iss of [one.name, other.name, ownIssuer]) {
    const claims = goodClaims({ iss, aud: ['one', 'other'] });
    for (const key of [pemOf(rsa.publicKey), pemOf(ec.publicKey)])
      t.is(await status(makeToken('HS256', key, { header: { alg: 'HS256', kid: 'k' }, claims })), 401);
    const unsigned = makeToken('HS256', secret, { header: { alg: 'none' }, claims });
    t.is(await status(`${unsigned.slice(0, unsigned.lastIndexOf('.'))}.`), 401);
  }
  // A key whose type does not fit the algorithm of the header, though its name does.
  t.is(await status(signed(newer.privateKey, { iss: other.name, aud: 'other' }, 'k')), 401);
});

test('an issuer gives the roles that its entry names, and no others', async (t) => {
  const issuer = await openDescribed(t, [jwkOf(ec.publicKey)]);
  const access = { claim: ['realm', 'groups'], roles: { root: { is: 'admin' }, staff: { is: 'operator' } } };
  const claims = { iss: issuer.name, roles: ['root', 'staff'], role: 'root', realm: { groups: ['root', 'staff'] } };
  const lists = [
    [undefined, []],
    [['staff'], ['staff']],
    ['*', ['root', 'staff']],
  ] as const;
  for (const [roles, left] of lists) {
    const entry = { issuer: issuer.name, owner_prefix: 'partner', ...(roles && { roles }) };
    const env = { HOST: '127.0.0.1', JWT_ISSUERS: JSON.stringify([toEntry(entry)]) };
    await using service = await openEmbedded('who', env, { auth: 'jwt', access });
    const client = createClient(service.url, { authorization: `Bearer ${signed(ec.privateKey, claims)}` });
    const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who am I?')] });
    const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
    const seen = JSON.parse(messages[0]?.content[0]?.text ?? '') as { user: Record<string, unknown>; config: object };
    t.like(seen.user, { roles: left, realm: { groups: left } });
    t.like(seen.config, { roles: left });
    t.is('role' in seen.user, roles === '*');
  }
});

test('the name of an issuer is compared as it stands, and one that is not known causes no request', async (t) => {
  const issuer = await openDescribed(t, [jwkOf(ec.publicKey)], '/');
  const url = await openService(t, [{ issuer: issuer.name, owner_prefix: 'team' }]);
  t.is((await ping(url, signed(ec.privateKey, { iss: issuer.name }))).status, 200);
  const before = issuer.requests.length;
  t.deepEqual(issuer.requests[0], 'GET /.well-known/openid-configuration');
  const { host } = new URL(issuer.url);
  const names = [issuer.url, `${issuer.name}/`, `http://localhost:${host.split(':')[1] ?? ''}/`, `HTTP://${host}/`];
  const unknown = [...names, 'https://elsewhere.test/', '', 7, null, [issuer.name], { name: issuer.name }, undefined];
  for (const iss of unknown)
    t.is((await ping(url, signed(ec.privateKey, { iss }, 'unknown'))).status, 401, JSON.stringify(iss));
  t.is(issuer.requests.length, before);
});

test('keys that an issuer has rotated are found, and those that it has taken back are not', async (t) => {
  const issuer = await openDescribed(t, [jwkOf(ec.publicKey, { kid: 'a' })]);
  const url = await openService(t, [{ issuer: issuer.name, owner_prefix: 'team' }]);
  const [before, after] = [
    signed(ec.privateKey, { iss: issuer.name }, 'a'),
    signed(newer.privateKey, { iss: issuer.name }, 'b'),
  ];
  t.is((await ping(url, before)).status, 200);
  issuer.answer(describing({ issuer: issuer.name, jwks_uri: issuer.keysUrl }, [jwkOf(newer.publicKey, { kid: 'b' })]));
  t.is((await ping(url, after)).status, 200);
  t.is((await ping(url, before)).status, 401);
});

const lies: readonly (readonly [what: string, answer: (issuer: Issuer) => Answer])[] = [
  [
    'of another issuer',
    ({ keysUrl }) => describing({ issuer: 'https://other.test', jwks_uri: keysUrl }, [jwkOf(ec.publicKey)]),
  ],
  [
    'with a slash at the end',
    ({ url, keysUrl }) => describing({ issuer: `${url}/`, jwks_uri: keysUrl }, [jwkOf(ec.publicKey)]),
  ],
  ['without an address of keys', ({ url }) => describing({ issuer: url }, [jwkOf(ec.publicKey)])],
  [
    'with keys without TLS',
    ({ url }) => describing({ issuer: url, jwks_uri: 'http://keys.test/' }, [jwkOf(ec.publicKey)]),
  ],
  [
    'with keys in a file',
    ({ url }) => describing({ issuer: url, jwks_uri: 'file:///etc/keys.json' }, [jwkOf(ec.publicKey)]),
  ],
  ['that is null', () => describing(null, [jwkOf(ec.publicKey)])],
  [
    'of a megabyte',
    ({ url, keysUrl }) =>
      describing({ issuer: url, jwks_uri: keysUrl, more: 'x'.repeat(2 ** 20) }, [jwkOf(ec.publicKey)]),
  ],
  ['that is elsewhere', () => (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ['that does not come in time', () => () => undefined],
  [
    'that comes drop by drop',
    () => (_, response) => {
      const drops = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(drops));
    },
  ],
];

for (const [what, answer] of lies) {
  test(`a description ${what} gives no keys: 503, and the issuer's word counts again when it is right`, async (t) => {
    const issuer = await openIssuer();
    t.teardown(() => issuer[Symbol.asyncDispose]());
    issuer.answer(answer(issuer));
    const url = await openService(t, [{ issuer: issuer.url, owner_prefix: 'team' }], { AUTH_TIMEOUT_MS: '300' });
    const token = signed(ec.privateKey, { iss: issuer.url });
    t.is((await ping(url, token)).status, 503);
    issuer.answer(describing({ issuer: issuer.url, jwks_uri: issuer.keysUrl }, [jwkOf(ec.publicKey)]));
    await until(async () => (await ping(url, token)).status === 200);
  });
}

test('clients of MCP find all issuers', async (t) => {
  const issuer = await openDescribed(t, [jwkOf(ec.publicKey)]);
  const url = await openService(t, [{ issuer: issuer.name, owner_prefix: 'team' }], {
    ...{ JWT_SECRET_KEY: secret, JWT_ISSUER: ownIssuer },
  });
  const reply = await fetch(`${url}/.well-known/oauth-protected-resource/mcp`);
  t.like(await reply.json(), { authorization_servers: [ownIssuer, issuer.name] });
});
