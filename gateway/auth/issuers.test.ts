import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import test from 'ava';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIssuers } from './issuers.ts';
import { authSettings } from './settings.ts';

const silentLog = createLog('test', 'silent');
const secret = 's'.repeat(32);

const open = (env: Readonly<Record<string, string>>): ReturnType<typeof openIssuers> =>
  openIssuers({ config: readEnv(authSettings, env), log: silentLog });

/** Nothing listens there. */
const entry = {
  issuer: 'https://127.0.0.1:9/a',
  audience: 'api',
  algorithms: ['RS256', 'ES256'],
  owner_prefix: 'a',
};
const listOf = (...entries: readonly unknown[]): string => JSON.stringify(entries);

const faults: readonly (readonly [what: string, env: Readonly<Record<string, string>>, message: string])[] = [
  ['no JSON', { JWT_ISSUERS: '[{' }, 'JWT_ISSUERS is not JSON'],
  ['an empty list', { JWT_ISSUERS: '[]' }, 'JWT_ISSUERS must be a list of 1 to 100 issuers'],
  [
    'a file that is not there',
    { JWT_ISSUERS: '/nowhere.json' },
    'JWT_ISSUERS is no list, and /nowhere.json cannot be read',
  ],
  ['no object', { JWT_ISSUERS: '[1]' }, 'JWT_ISSUERS[0] must be an object'],
  [
    'an unknown member',
    { JWT_ISSUERS: listOf({ ...entry, aud: 'x' }) },
    'JWT_ISSUERS[0] has the unknown member aud; the known ones are issuer, audience, algorithms, jwks_url, owner_prefix, roles',
  ],
  ['no issuer', { JWT_ISSUERS: listOf({ ...entry, issuer: 1 }) }, 'JWT_ISSUERS[0].issuer must be a text'],
  [
    'an issuer without TLS',
    { JWT_ISSUERS: listOf({ ...entry, issuer: 'http://login.test' }) },
    'JWT_ISSUERS[0].issuer must be an https address',
  ],
  [
    'keys without TLS',
    { JWT_ISSUERS: listOf({ ...entry, jwks_url: 'http://login.test/keys' }) },
    'JWT_ISSUERS[0].jwks_url must be an https address',
  ],
  [
    'a query',
    { JWT_ISSUERS: listOf({ ...entry, issuer: 'https://login.test/?a' }) },
    'JWT_ISSUERS[0].issuer must have no query',
  ],
  [
    'no audience',
    { JWT_ISSUERS: listOf({ ...entry, audience: [] }) },
    'JWT_ISSUERS[0].audience must be a text, or a list of texts',
  ],
  [
    'an algorithm of secrets',
    { JWT_ISSUERS: listOf({ ...entry, algorithms: ['HS256'] }) },
    'JWT_ISSUERS[0].algorithms must be a list of RS256, RS384, RS512, ES256, ES384, ES512',
  ],
  [
    'no prefix',
    { JWT_ISSUERS: listOf({ ...entry, owner_prefix: undefined }) },
    'JWT_ISSUERS[0].owner_prefix must be a text of at most 32 of a-z, 0-9, ".", "_" and "-": it stands before the ids of its users',
  ],
  [
    'no list of roles',
    { JWT_ISSUERS: listOf({ ...entry, roles: 'root' }) },
    'JWT_ISSUERS[0].roles must be "*", or a list of the roles that its tokens may give',
  ],
  [
    'one issuer twice',
    { JWT_ISSUERS: listOf(entry, { ...entry, owner_prefix: 'b' }) },
    'JWT_ISSUERS names https://127.0.0.1:9/a twice, or JWT_ISSUER does',
  ],
  [
    'one prefix twice',
    { JWT_ISSUERS: listOf(entry, { ...entry, issuer: 'https://127.0.0.1:9/b' }) },
    'JWT_ISSUERS: two issuers have owner_prefix a: one user of each would be one owner',
  ],
  [
    'two without a prefix',
    { JWT_SECRET_KEY: secret, JWT_ISSUER: 'own', JWT_ISSUERS: listOf({ ...entry, owner_prefix: '' }) },
    'JWT_ISSUERS: only one issuer may be without owner_prefix: one user of each would be one owner',
  ],
  [
    'an own issuer without a name',
    { JWT_SECRET_KEY: secret, JWT_ISSUERS: listOf(entry) },
    'JWT_ISSUERS is set: the issuer of the other JWT settings must be named by JWT_ISSUER',
  ],
  [
    'a name without a key',
    { JWT_ISSUER: 'own', JWT_ISSUERS: listOf(entry) },
    'JWT_ISSUER and JWT_AUDIENCE are of the issuer whose key is set, and none is',
  ],
];

for (const [what, env, message] of faults) {
  test(`issuers with ${what} stop the start`, (t) => {
    t.throws(() => open(env), { instanceOf: ConfigError, message });
  });
}

test('a list of issuers stands in the setting, or in the file that it names', (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'issuers-')), 'issuers.json');
  writeFileSync(file, listOf(entry));
  for (const given of [listOf(entry), file]) {
    using opened = open({ JWT_ISSUERS: given });
    t.deepEqual(
      opened.issuers.map(({ name, algorithms, audience, owners }) => ({ name, algorithms, audience, owners })),
      [{ name: entry.issuer, algorithms: ['RS256', 'ES256'], audience: ['api'], owners: { prefix: 'a', others: [] } }],
    );
  }
});
