import test from 'ava';
import { unreadSettings } from './unread-settings.ts';

const unread = (kind: string, ...names: readonly string[]): string[] =>
  unreadSettings(kind, Object.fromEntries(names.map((name) => [name, 'any'])));

test('a setting of another kind of process is named with the kinds that read it', (t) => {
  t.deepEqual(unread('standalone', 'THREAD_STORE'), [
    'THREAD_STORE: only threads reads it, and this process is standalone',
  ]);
  t.deepEqual(unread('threads', 'THREAD_STORE', 'LOG_LEVEL'), []);
});

for (const [name, meant] of [
  ['LEASE_MSS', 'LEASE_MS'],
  ['LEASE_M', 'LEASE_MS'],
  ['LAESE_MS', 'LEASE_MS'],
  ['THREAD_SOTRES', 'THREAD_STORE'],
  ['lease_ms', 'LEASE_MS'],
  ['PROT', 'PORT'],
  ['LEASE', 'LEASE_MS'],
  ['POSTGRES_USER', 'POSTGRES_USERNAME'],
] as const) {
  test(`${name} is named as no setting, beside ${meant}`, (t) => {
    t.deepEqual(unread('standalone', name), [`${name}: no such setting; ${meant} is one`]);
  });
}

test('an unknown variable of a server of the cluster is named, unless Kubernetes sets it', (t) => {
  t.deepEqual(unread('execution', 'NATS_SERVERS'), [
    'NATS_SERVERS: no such setting; settings that begin with NATS_ are listed in deploy/settings.md',
  ]);
  t.deepEqual(
    unread('execution', 'NATS_PORT', 'NATS_SERVICE_HOST', 'REDIS_PORT_6379_TCP_ADDR', 'NATS_SERVICE_PORT'),
    [],
  );
});

test('variables of other programs and empty ones are not named', (t) => {
  const others = [
    'HOME',
    'PATH',
    'USER',
    'LANG',
    'TERM',
    'SHELL',
    'PWD',
    'MAIL',
    'HOSTNAME',
    'NODE_ENV',
    'NODE_OPTIONS',
    'SSL_CERT_FILE',
  ];
  t.deepEqual(unread('standalone', ...others, 'npm_config_user_agent', 'OTEL_SERVICE_NAME', 'OPENAI_ORG_ID', 'TZ'), []);
  t.deepEqual(unreadSettings('standalone', { LEASE_MSS: '', THREAD_STORE: undefined }), []);
});
