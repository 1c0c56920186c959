import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import test from 'ava';
import { gatewayProcessSettings, hostOf } from './config.ts';

test('without authentication only the own machine is let in, unless the operator says otherwise', (t) => {
  t.is(hostOf({ HOST: undefined }, { auth: null }), '127.0.0.1');
  t.is(hostOf({ HOST: undefined }, { auth: 'jwt' }), '0.0.0.0');
  t.is(hostOf({ HOST: '::' }, { auth: null }), '::');
});

test('addresses of services that no call could reach are faults of the start', (t) => {
  const env = { THREADS_ADDRESS: ':::1', EXECUTION_ADDRESS: 'host:', MEMORY_ADDRESS: 'host:99999' };
  const error = t.throws(() => readEnv(gatewayProcessSettings, env), { instanceOf: ConfigError });
  t.deepEqual(
    error.message.split('\n').map((line) => line.split(' must be ')[0]),
    Object.keys(env),
  );
});
