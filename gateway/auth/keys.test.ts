import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import test from 'ava';
import { openKeys, type Keys } from './keys.ts';
import { authSettings } from './settings.ts';

const silentLog = createLog('test', 'silent');

const open = (env: Readonly<Record<string, string>>): Keys =>
  openKeys({ config: readEnv(authSettings, env), log: silentLog });

const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const weak = pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey);
const pss = pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey);
const p256 = pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
const p384 = pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey);
const ed25519 = pem(generateKeyPairSync('ed25519').publicKey);
const privateRsa = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const publicRsa = pem(rsa.publicKey);
const anyPublic = 'one of JWT_PUBLIC_KEY, JWT_JWKS_URL, JWT_SECRET_KEY must be set';

const faults: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
  [{}, 'auth is jwt with HS256: JWT_SECRET_KEY must be set'],
  [{ JWT_ALGORITHM: 'RS256' }, `auth is jwt with RS256: ${anyPublic}`],
  [
    { JWT_ALGORITHM: 'HS512', JWT_PUBLIC_KEY: publicRsa },
    'auth is jwt with HS512: JWT_SECRET_KEY must be set, not JWT_PUBLIC_KEY',
  ],
  [
    { JWT_SECRET_KEY: 'x'.repeat(32), JWT_JWKS_URL: 'https://a.test' },
    'auth is jwt with HS256: JWT_SECRET_KEY must be set, not JWT_SECRET_KEY and JWT_JWKS_URL',
  ],
  [
    { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: p256, JWT_JWKS_URL: 'https://a.test' },
    `auth is jwt with ES256: ${anyPublic}, not JWT_PUBLIC_KEY and JWT_JWKS_URL`,
  ],
  [{ JWT_SECRET_KEY: 'x'.repeat(31) }, 'JWT_SECRET_KEY has 31 bytes; HS256 needs at least 32'],
  [{ JWT_ALGORITHM: 'HS384', JWT_SECRET_KEY: 'x'.repeat(47) }, 'JWT_SECRET_KEY has 47 bytes; HS384 needs at least 48'],
  [{ JWT_ALGORITHM: 'HS512', JWT_SECRET_KEY: 'x'.repeat(63) }, 'JWT_SECRET_KEY has 63 bytes; HS512 needs at least 64'],
  [{ JWT_SECRET_KEY: publicRsa }, 'JWT_SECRET_KEY holds a PEM key; HS256 needs a secret'],
  [{ JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: 'x'.repeat(64) }, 'JWT_PUBLIC_KEY is not a public key in PEM'],
  [{ JWT_ALGORITHM: 'RS256', JWT_SECRET_KEY: 'x'.repeat(64) }, 'JWT_SECRET_KEY is not a public key in PEM'],
  [{ JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: p256 }, 'JWT_PUBLIC_KEY is of type ec; RS256 needs rsa'],
  [{ JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: pss }, 'JWT_PUBLIC_KEY is of type rsa-pss; RS256 needs rsa'],
  [{ JWT_ALGORITHM: 'RS512', JWT_PUBLIC_KEY: weak }, 'JWT_PUBLIC_KEY has 1024 bits; at least 2048 are needed'],
  [{ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: publicRsa }, 'JWT_PUBLIC_KEY is of type rsa; ES256 needs ec'],
  [{ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: ed25519 }, 'JWT_PUBLIC_KEY is of type ed25519; ES256 needs ec'],
  [
    { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: p384 },
    'JWT_PUBLIC_KEY is on the curve secp384r1; ES256 needs prime256v1',
  ],
  [
    { JWT_ALGORITHM: 'ES512', JWT_SECRET_KEY: p256 },
    'JWT_SECRET_KEY is on the curve prime256v1; ES512 needs secp521r1',
  ],
  [
    { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: privateRsa },
    "JWT_PUBLIC_KEY holds a private key; the service needs the public one, and nobody else's secret",
  ],

  [{ JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: 'file:///keys' }, 'JWT_JWKS_URL must be an http or https address'],
  [{ JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: 'https://me:pw@a.test' }, 'JWT_JWKS_URL must not carry a name or password'],
];

for (const [env, line] of faults) {
  test(`a start is stopped by: ${line}`, (t) => {
    const error = t.throws(() => open(env), { instanceOf: ConfigError });
    t.is(error.message, line);
  });
}

test('an algorithm that is not known stops the start', (t) => {
  for (const name of ['none', 'HS1', 'PS256', 'rs256', 'EdDSA']) {
    const error = t.throws(() => open({ JWT_ALGORITHM: name }), { instanceOf: ConfigError });
    t.regex(error.message, /^JWT_ALGORITHM must be one of HS256, .*ES512, not ".+"$/);
  }
});

test('a secret of exactly the length of the hash will do, its bytes counted', (t) => {
  t.notThrows(() => open({ JWT_SECRET_KEY: 'é'.repeat(16) }));
  t.notThrows(() => open({ JWT_ALGORITHM: 'HS512', JWT_SECRET_KEY: 'x'.repeat(64) }));
});

test('a public key may be given in either variable, its lines apart or in one', async (t) => {
  for (const name of ['JWT_PUBLIC_KEY', 'JWT_SECRET_KEY']) {
    for (const text of [publicRsa, publicRsa.trim(), publicRsa.replaceAll('\n', '\\n')]) {
      const keys = open({ JWT_ALGORITHM: 'RS256', [name]: text });
      t.is(keys.origin, name);
      t.true((await keys.find(undefined, 'RS256')).equals(rsa.publicKey));
    }
  }
});
