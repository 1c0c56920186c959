import { createPrivateKey } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import test from 'ava';
import { auth } from 'cassandra-driver';
import { migrateCassandra } from '@agent-workflow/threads/adapters/cassandra/migrate';
import { openCassandraThreadStore } from '@agent-workflow/threads/adapters/cassandra/store';
import { newHead, owner, put } from '../contract/thread-rows.ts';
import { openClient } from '../servers/cassandra-keyspace.ts';
import { privateCassandra, type Cassandra } from '../servers/cassandra.ts';
import { openAuthorities, toTlsFiles, type Authority } from '../servers/certificates.ts';
import type { Launcher, Private } from '../servers/real.ts';
import { withServer } from '../servers/real-suite.ts';
import { byLoad } from '../by-load.ts';

const key = { owner, threadId: 'secured' };
const credentials = { username: 'cassandra', password: 'cassandra' };

/** What the server shows: its key, in the form that Cassandra reads, and its certificate in one file. */
async function serverFiles(
  authority: Authority,
): Promise<{ readonly keyAndCertificate: string; readonly authorities: string }> {
  const { certificate, key: keyFile, authorities } = await authority.sign('cassandra');
  const pkcs8 = createPrivateKey(await readFile(keyFile)).export({ type: 'pkcs8', format: 'pem' });
  const keyAndCertificate = `${certificate}.both`;
  await writeFile(keyAndCertificate, `${pkcs8.toString()}${await readFile(certificate, 'utf8')}`);
  return { keyAndCertificate, authorities };
}

const authorities = openAuthorities(test);

const secured: Launcher<Private<Cassandra>> = {
  ...privateCassandra(),
  open: async () => privateCassandra({ secured: await serverFiles((await authorities)[0]) }).open(),
};

withServer(test, secured, (launched) => {
  test('a record that asks for a password and a certificate is reached with both, and not when one is wrong', async (t) => {
    t.timeout(byLoad(120_000));
    const [authority, foreign] = await authorities;
    const { contactPoints, localDataCenter } = await launched();
    const limits = { requestTimeoutMs: 10_000, deadlineMs: 30_000, checkpointTtl: 0 };
    const place = { contactPoints, localDataCenter, keyspace: 'secured', credentials, ...limits };
    const options = { ...place, tls: toTlsFiles(await authority.sign('threads')) };
    await migrateCassandra({ ...options, replication: { [localDataCenter]: 1 }, waitMs: 60_000 });
    await using store = await openCassandraThreadStore(options);
    await put(store, { head: newHead }, key);
    t.like(await store.getHead(key), newHead as never);

    await using client = openClient({
      ...{ contactPoints: [...contactPoints], localDataCenter },
      authProvider: new auth.PlainTextAuthProvider(credentials.username, credentials.password),
    });
    const { rows } = await client.execute('SELECT username, ssl_enabled FROM system_views.clients');
    t.true(rows.some((row) => row['username'] === credentials.username && row['ssl_enabled'] === true));

    const { caFile } = options.tls;
    const foreignTls = toTlsFiles(await foreign.sign('threads'));
    const noPassword = { ...limits, contactPoints, localDataCenter, keyspace: 'secured', tls: options.tls };
    const wrong: readonly [RegExp, Parameters<typeof openCassandraThreadStore>[0]][] = [
      [/password are incorrect/, { ...options, credentials: { ...credentials, password: 'guessed' } }],
      [/requires authentication/, noPassword],
      [/alert certificate required/, { ...options, tls: { caFile } }],
      [/SSL alert/, { ...options, tls: { ...foreignTls, caFile } }],
      [/altnames/, { ...options, tls: { ...options.tls, serverName: 'cassandra.example' } }],
      [/unable to verify/, { ...options, tls: { ...options.tls, caFile: foreignTls.caFile } }],
    ];
    await using named = await openCassandraThreadStore({
      ...options,
      tls: { ...options.tls, serverName: 'localhost' },
    });
    t.like(await named.getHead(key), newHead as never);
    for (const [reason, reach] of wrong) {
      const error = await t.throwsAsync(openCassandraThreadStore(reach), {
        message: 'the record of threads is unavailable for now',
      });
      t.regex(String((error.cause as Error | undefined)?.message), reason);
    }
  });
});
