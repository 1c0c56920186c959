import test from 'ava';
import { ConfigError, printable, readEnv, type Env } from '@agent-workflow/kit/env';
import { postgresSettings, readPostgres } from './settings.ts';

const read = (env: Env): ReturnType<typeof readPostgres> => readPostgres(readEnv(postgresSettings, env));

test('with nothing set, a server on this machine is meant, without a password or certificates', (t) => {
  t.deepEqual(read({}), {
    host: 'localhost',
    port: 5432,
    database: 'agent_workflow',
    schema: 'agent_workflow',
    username: 'agent_workflow',
    connections: 10,
    requestTimeoutMs: 3000,
    deadlineMs: 10_000,
  });
});

test('settings that do not hold with each other are all named at once', (t) => {
  const error = t.throws(
    () =>
      read({
        POSTGRES_SCHEMA: 'Record; DROP',
        POSTGRES_PASSWORD: 'secret',
        POSTGRES_PASSWORD_FILE: '/run/secrets/password',
        POSTGRES_TLS_CERT_FILE: '/tls/cert.pem',
        POSTGRES_TLS_SERVER_NAME: 'postgres.example',
      }),
    { instanceOf: ConfigError },
  );
  t.deepEqual(error.message.split('\n'), [
    'POSTGRES_SCHEMA must be at most 48 lower-case letters, digits and _, and begin with a letter',
    'POSTGRES_PASSWORD and POSTGRES_PASSWORD_FILE must not both be set',
    'POSTGRES_TLS_CERT_FILE and POSTGRES_TLS_KEY_FILE must be set together',
    'POSTGRES_TLS_CERT_FILE needs POSTGRES_TLS_CA_FILE',
    'POSTGRES_TLS_SERVER_NAME needs POSTGRES_TLS_CA_FILE',
  ]);
});

test('the password is masked in what a start prints', (t) => {
  const values = readEnv(postgresSettings, { POSTGRES_PASSWORD: 'secret' });
  t.false(JSON.stringify(printable(postgresSettings, values)).includes('secret'));
});
