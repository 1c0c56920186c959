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

test('the public address is one of the web, without a slash at its end', (t) => {
  const services = { THREADS_ADDRESS: 'a:1', EXECUTION_ADDRESS: 'a:2', MEMORY_ADDRESS: 'a:3' };
  const read = (PUBLIC_URL: string) => readEnv(gatewayProcessSettings, { ...services, PUBLIC_URL }).PUBLIC_URL;
  t.is(read('https://agents.example.com/'), 'https://agents.example.com');
  t.is(read('https://example.com/agents/'), 'https://example.com/agents');
  for (const wrong of ['agents.example.com', 'ftp://example.com', 'https://a:b@example.com', 'https://example.com/?a'])
    t.throws(() => read(wrong), { message: /PUBLIC_URL/ }, wrong);
});
