import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { migratePostgres } from '@agent-workflow/threads/adapters/postgres/migrate';
import { openPostgresThreadStore } from '@agent-workflow/threads/adapters/postgres/store';
import { newHead, owner, put } from '../contract/thread-rows.ts';
import { openAuthorities, toTlsFiles, type Authority } from '../servers/certificates.ts';
import { postgresPassword, privatePostgres, type Postgres } from '../servers/postgres.ts';
import type { Launcher, Private } from '../servers/real.ts';
import { withServer } from '../servers/real-suite.ts';
import { byLoad } from '../by-load.ts';

type Options = Parameters<typeof openPostgresThreadStore>[0];

const key = { owner, threadId: 'secured' };

/** What the server shows: its key and its certificate in one file. */
async function serverFiles(
  authority: Authority,
): Promise<{ readonly keyAndCertificate: string; readonly authorities: string }> {
  const { certificate, key: keyFile, authorities } = await authority.sign('postgres');
  const keyAndCertificate = `${certificate}.both`;
  await writeFile(keyAndCertificate, `${await readFile(keyFile, 'utf8')}${await readFile(certificate, 'utf8')}`);
  return { keyAndCertificate, authorities };
}

const authorities = openAuthorities(test);

const secured: Launcher<Private<Postgres>> = {
  ...privatePostgres(),
  open: async () => privatePostgres({ secured: await serverFiles((await authorities)[0]) }).open(),
};

withServer(test, secured, (launched) => {
  test('a record that asks for a password and a certificate is reached with both, and not when one is wrong', async (t) => {
    t.timeout(byLoad(120_000));
    const [authority, foreign] = await authorities;
    const { host, port, username, database } = await launched();
    const limits = { requestTimeoutMs: 10_000, deadlineMs: 10_000, connections: 2 };
    const reach = { host, port, username, database, schema: 'secured', ...limits };
    const passwordFile = join(tmpdir(), randomUUID());
    await writeFile(passwordFile, `${postgresPassword}\n`, { mode: 0o600 });
    const tls = toTlsFiles(await authority.sign('threads'));
    const options: Options = { ...reach, password: postgresPassword, tls };
    await migratePostgres({ ...options, waitMs: 60_000 });
    {
      await using store = await openPostgresThreadStore({ ...reach, passwordFile, tls });
      await put(store, { head: newHead }, key);
      t.like(await store.getHead(key), newHead as never);
      await using named = await openPostgresThreadStore({ ...options, tls: { ...tls, serverName: 'localhost' } });
      t.like(await named.getHead(key), newHead as never);
    }

    const other = toTlsFiles(await foreign.sign('threads'));
    const wrong: readonly [RegExp, Options][] = [
      [/password authentication failed/, { ...options, password: 'guessed' }],
      [/password must be|SASL|no password/i, { ...reach, tls }],
      [/no pg_hba.conf entry/, { ...reach, password: postgresPassword }],
      [/certificate/, { ...options, tls: { caFile: tls.caFile } }],
      [/altnames/, { ...options, tls: { ...tls, serverName: 'postgres.example' } }],
      [/unable to verify|self-signed/, { ...options, tls: { ...tls, caFile: other.caFile } }],
    ];
    for (const [reason, at] of wrong) {
      const error = await t.throwsAsync(openPostgresThreadStore(at), {
        message: 'the record of threads is unavailable for now',
      });
      t.regex(String((error.cause as Error | undefined)?.message), reason);
    }
  });
});
