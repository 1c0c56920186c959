import { ConfigError, printable, readEnv } from '@agent-workflow/kit/env';
import test from 'ava';
import { redisSettings } from './settings.ts';

test('without an address there is no Redis', (t) => {
  t.deepEqual(readEnv(redisSettings, {}), {
    REDIS_URL: undefined,
    REDIS_KEY_PREFIX: 'agent-workflow:',
    REDIS_TIMEOUT_MS: 500,
  });
});

for (const address of [
  'redis://localhost',
  'redis://127.0.0.1:6380/2',
  'rediss://user:p%40ss@redis.example.com:6379/',
  'redis://[::1]:6379',
]) {
  test(`${address} is an address, printed as a secret`, (t) => {
    const values = readEnv(redisSettings, { REDIS_URL: address });
    t.is(values.REDIS_URL, address);
    t.is(printable(redisSettings, values)['REDIS_URL'], '***');
  });
}

for (const address of [
  'localhost:6379',
  'http://localhost',
  'redis://',
  'redis:///1',
  'redis://localhost/words',
  'x',
]) {
  test(`${address} is no address, and is not told again`, (t) => {
    t.throws(() => readEnv(redisSettings, { REDIS_URL: address }), {
      instanceOf: ConfigError,
      message: 'REDIS_URL must be `redis://` or `rediss://` with a host, not (hidden)',
    });
  });
}
