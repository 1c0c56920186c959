import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLog } from '@agent-workflow/kit/log';
import test, { type ExecutionContext } from 'ava';
import { openJwks } from './jwks.ts';

const silentLog = createLog('test', 'silent');

const pair = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
const [first, second] = [pair(), pair()];
const jwk = (key: KeyObject, more: object = {}): object => ({ ...key.export({ format: 'jwk' }), ...more });

interface Setup {
  readonly jwks: ReturnType<typeof openJwks>;
  readonly asked: () => number;
  /** Answers so from now on. */
  readonly answer: (listener: RequestListener) => void;
  readonly pass: (ms: number) => void;
}

const publish =
  (...keys: unknown[]): RequestListener =>
  (_, response) =>
    response.end(JSON.stringify({ keys }));
const away: RequestListener = (_, response) => response.writeHead(500).end();

async function setup(
  t: ExecutionContext,
  listener: RequestListener,
  options: Partial<Parameters<typeof openJwks>[0]> = {},
): Promise<Setup> {
  let [asked, now, current] = [0, 0, listener];
  const server = createServer((request, response) => {
    asked += 1;
    current(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const jwks = openJwks({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    algorithms: ['ES256'],
    timeoutMs: 5000,
    cooldownMs: 30_000,
    maxAgeMs: 600_000,
    now: () => now,
    log: silentLog,
    ...options,
  });
  t.teardown(() => {
    jwks[Symbol.dispose]();
    server.closeAllConnections();
    server.close();
  });
  return {
    jwks,
    asked: () => asked,
    answer: (given) => (current = given),
    pass: (ms) => (now += ms),
  };
}

const same = async (t: ExecutionContext, found: Promise<KeyObject>, key: KeyObject): Promise<void> => {
  t.true((await found).equals(key));
};

test('a key is found by its name, and the set is read once for any number of tokens', async (t) => {
  const { jwks, asked } = await setup(t, publish(jwk(first, { kid: 'a' }), jwk(second, { kid: 'b' })));
  await Promise.all(Array.from({ length: 20 }, () => same(t, jwks.find('a', 'ES256'), first)));
  await same(t, jwks.find('b', 'ES256'), second);
  t.is(asked(), 1);
});

test('a name that is not known is asked for once per cool-down, however many tokens carry one', async (t) => {
  const { jwks, asked, pass } = await setup(t, publish(jwk(first, { kid: 'a' })));
  await jwks.find('a', 'ES256');
  for (let round = 2; round <= 4; round += 1) {
    const found = Array.from({ length: 50 }, (_, index) => jwks.find(`unknown-${index}`, 'ES256'));
    for (const result of await Promise.allSettled(found)) t.is(result.status, 'rejected');
    await t.throwsAsync(jwks.find('unknown', 'ES256'), { name: 'Unauthenticated' });
    t.is(asked(), round);
    pass(30_000);
  }
});

test('a key that is new is found at once; one that is gone is not found any more', async (t) => {
  const { jwks, answer } = await setup(t, publish(jwk(first, { kid: 'a' })));
  await same(t, jwks.find('a', 'ES256'), first);
  answer(publish(jwk(second, { kid: 'b' })));
  await same(t, jwks.find('b', 'ES256'), second);
  await t.throwsAsync(jwks.find('a', 'ES256'), { name: 'Unauthenticated' });
});

test('old keys are read again in the background, while they still count', async (t) => {
  const { jwks, answer, asked, pass } = await setup(t, publish(jwk(first, { kid: 'a' })));
  await jwks.find('a', 'ES256');
  const held = Promise.withResolvers<undefined>();
  answer((request, response) => {
    void held.promise.then(() => publish(jwk(second, { kid: 'a' }))(request, response));
  });
  pass(600_000);
  await same(t, jwks.find('a', 'ES256'), first);
  held.resolve(undefined);
  while (!(await jwks.find('a', 'ES256')).equals(second)) await new Promise(setImmediate);
  t.is(asked(), 2);
});

for (const [what, listener] of [
  ['that is unavailable', away],
  ['that gives something else', (_, response) => response.end('<html>')],
  ['that gives a null', (_, response) => response.end('null')],
  ['that gives no key', publish()],
  ['that gives no key that fits', publish(jwk(first, { kid: 'a', alg: 'ES384' }))],
  ['that gives too much', (_, response) => response.end(`{"keys":[],"more":"${'x'.repeat(300_000)}"}`)],
  ['that sends elsewhere', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ['that breaks off', (_, response) => void response.socket?.destroy()],
] as const satisfies readonly (readonly [string, RequestListener])[]) {
  test(`an address ${what} keeps the keys that are known, and is 503 when none are`, async (t) => {
    const { jwks, answer, asked, pass } = await setup(t, publish(jwk(first, { kid: 'a' })));
    await jwks.find('a', 'ES256');
    answer(listener);
    await t.throwsAsync(jwks.find('b', 'ES256'), { name: 'Unauthenticated' });
    pass(600_000);
    for (let round = 0; round < 5; round += 1) await same(t, jwks.find('a', 'ES256'), first);
    t.true(asked() <= 3, 'an address that fails is not asked by every token');

    const other = await setup(t, listener);
    await t.throwsAsync(other.jwks.find('a', 'ES256'), { name: 'Unavailable' });
    other.answer(publish(jwk(second, { kid: 'a' })));
    await t.throwsAsync(other.jwks.find('a', 'ES256'), { name: 'Unavailable' }, 'asked a moment ago');
    other.pass(1000);
    await same(t, other.jwks.find('a', 'ES256'), second);
  });
}

test('an address that does not answer in time is as one that is unavailable', async (t) => {
  const { jwks } = await setup(t, () => undefined, { timeoutMs: 50 });
  await t.throwsAsync(jwks.find('a', 'ES256'), { name: 'Unavailable' });
});

test('a token without a name means the only key there is', async (t) => {
  const one = await setup(t, publish(jwk(first)));
  await same(t, one.jwks.find(undefined, 'ES256'), first);
  const two = await setup(t, publish(jwk(first, { kid: 'a' }), jwk(second, { kid: 'b' })));
  await t.throwsAsync(two.jwks.find(undefined, 'ES256'), { name: 'Unauthenticated' });
});

test('only keys that verify signatures of the algorithm count', async (t) => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
  const { jwks } = await setup(
    t,
    publish(
      null,
      'text',
      {},
      jwk(rsa, { kid: 'rsa' }),
      jwk(p384, { kid: 'curve' }),
      jwk(first, { kid: 'enc', use: 'enc' }),
      jwk(first, { kid: 'alg', alg: 'RS256' }),
      jwk(first, { kid: 'ops', key_ops: ['sign'] }),
      jwk(first, { kid: 7 }),
      { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
      jwk(first, { kid: 'good', use: 'sig', alg: 'ES256', key_ops: ['verify'] }),
      jwk(second, { kid: 'good' }),
    ),
  );
  await same(t, jwks.find('good', 'ES256'), first);
  for (const kid of ['rsa', 'curve', 'enc', 'alg', 'ops', 7, 'oct']) {
    await t.throwsAsync(jwks.find(kid, 'ES256'), { name: 'Unauthenticated' }, String(kid));
  }
});
