import test from 'ava';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { configureStore, storeSettings } from './stores.ts';

test('a cluster keeps its threads in Cassandra unless THREAD_STORE names another store', (t) => {
  t.is(configureStore(readEnv(storeSettings, {})).server, 'Cassandra');
  const error = t.throws(() => readEnv(storeSettings, { THREAD_STORE: 'oracle' }), { instanceOf: ConfigError });
  t.regex(error.message, /^THREAD_STORE must be one of cassandra/);
});

test('the settings of the store that THREAD_STORE names are checked before anything is opened, all at once', (t) => {
  const values = readEnv(storeSettings, { CASSANDRA_KEYSPACE: 'Not plain', CASSANDRA_USERNAME: 'ada' });
  const error = t.throws(() => configureStore(values), { instanceOf: ConfigError });
  t.deepEqual(
    error.message.split('\n').map((line) => line.split(' ', 1)[0]),
    ['CASSANDRA_KEYSPACE', 'CASSANDRA_USERNAME'],
  );
});
