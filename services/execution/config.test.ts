import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import test from 'ava';
import { executionProcessSettings, poolWarnings, registrationSettings } from './config.ts';

const warningsOf = (env: Readonly<Record<string, string>>): readonly string[] =>
  poolWarnings(
    readEnv(executionProcessSettings, { THREADS_ADDRESS: 't:1', MEMORY_ADDRESS: 'm:1', NATS_URL: 'nats://n', ...env }),
    env,
  );

test('a worker of a pool that has the secret of all files is warned of it', (t) => {
  const secret = { FILES_SECRET: 'x'.repeat(64) };
  t.deepEqual(warningsOf({}), []);
  t.deepEqual(warningsOf(secret), []);
  t.deepEqual(warningsOf({ POOL: 'team' }), []);
  const [warning = '', ...more] = warningsOf({ POOL: 'team', ...secret });
  t.regex(warning, /^FILES_SECRET opens the files of all runs/);
  t.deepEqual(more, []);
});

test('a worker of a pool that has the secret of all grants is warned of it', (t) => {
  const secret = { GRANT_SECRET: 'x'.repeat(64) };
  t.deepEqual(warningsOf(secret), []);
  const [warning = '', ...more] = warningsOf({ POOL: 'team', ...secret });
  t.regex(warning, /^GRANT_SECRET gives grants of all runs/);
  t.deepEqual(more, []);
});

test('addresses of threads and memory that no call could reach are faults of the start', (t) => {
  const error = t.throws(
    () => readEnv(executionProcessSettings, { THREADS_ADDRESS: ':::1', MEMORY_ADDRESS: 'host:', NATS_URL: 'nats://n' }),
    { instanceOf: ConfigError },
  );
  t.deepEqual(
    error.message.split('\n').map((line) => line.split(' must be ')[0]),
    ['THREADS_ADDRESS', 'MEMORY_ADDRESS'],
  );
  const { message } = t.throws(() => readEnv(registrationSettings, { THREADS_ADDRESS: 'host:99999' }));
  t.regex(message, /^THREADS_ADDRESS must be host:port, /);
});
