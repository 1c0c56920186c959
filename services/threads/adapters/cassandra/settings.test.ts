import test from 'ava';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { cassandraSettings, readCassandra } from './settings.ts';

const read = (env: Record<string, string>): ReturnType<typeof readCassandra> =>
  readCassandra(readEnv(cassandraSettings, env));

test('without settings a node of this machine is meant, and three replicas in its data centre', (t) => {
  const reach = read({});
  t.deepEqual(reach.contactPoints, ['localhost:9042']);
  t.deepEqual(reach.replication, { datacenter1: 3 });
  t.false('credentials' in reach);
  t.false('tls' in reach);
});

test('nodes, replicas, user and files are read as they are written', (t) => {
  const reach = read({
    CASSANDRA_CONTACT_POINTS: 'a:1, b',
    CASSANDRA_LOCAL_DATACENTER: 'east',
    CASSANDRA_REPLICATION: 'east:3, west-2:2',
    CASSANDRA_USERNAME: 'ada',
    CASSANDRA_PASSWORD: 'secret',
    CASSANDRA_TLS_CA_FILE: 'ca.pem',
  });
  t.deepEqual(reach.contactPoints, ['a:1', 'b']);
  t.deepEqual(reach.replication, { east: 3, 'west-2': 2 });
  t.deepEqual(reach.credentials, { username: 'ada', password: 'secret' });
  t.deepEqual(reach.tls, { caFile: 'ca.pem' });
});

for (const [name, value] of [
  ['CASSANDRA_REPLICATION', '0'],
  ['CASSANDRA_REPLICATION', 'east'],
  ['CASSANDRA_REPLICATION', "east':3"],
  ['CASSANDRA_KEYSPACE', 'a; DROP KEYSPACE b'],
  ['CASSANDRA_CONTACT_POINTS', ' , '],
  ['CASSANDRA_USERNAME', 'ada'],
  ['CASSANDRA_TLS_KEY_FILE', 'key.pem'],
  ['CASSANDRA_TLS_SERVER_NAME', 'cassandra.example'],
] as const) {
  test(`${name} is refused as ${JSON.stringify(value)}`, (t) => {
    const error = t.throws(() => read({ [name]: value }), { instanceOf: ConfigError });
    t.regex(error.message, new RegExp(name));
  });
}

test('every invalid setting is named at once', (t) => {
  const error = t.throws(() => read({ CASSANDRA_REPLICATION: '0', CASSANDRA_KEYSPACE: 'A', CASSANDRA_PASSWORD: 'x' }), {
    instanceOf: ConfigError,
  });
  t.is(error.message.split('\n').length, 3);
});
