import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { loadTls, readTlsFiles } from './tls-files.ts';

const none = { caFile: undefined, certFile: undefined, keyFile: undefined, serverName: undefined };

test('without settings, connections are not encrypted', (t) => {
  t.deepEqual(readTlsFiles('STORE', none), { problems: [] });
});

test('with an authority they are, and the files keep the names that are set', (t) => {
  const files = { caFile: 'ca.pem', certFile: 'cert.pem', keyFile: 'key.pem', serverName: 'store.example' };
  t.deepEqual(readTlsFiles('STORE', files), { tls: files, problems: [] });
  t.deepEqual(readTlsFiles('STORE', { ...none, caFile: 'ca.pem' }), { tls: { caFile: 'ca.pem' }, problems: [] });
});

test('a certificate without its key or an authority, and a name without an authority, are problems', (t) => {
  t.deepEqual(readTlsFiles('STORE', { ...none, certFile: 'cert.pem', serverName: 'store.example' }), {
    problems: [
      'STORE_TLS_CERT_FILE and STORE_TLS_KEY_FILE must be set together',
      'STORE_TLS_CERT_FILE needs STORE_TLS_CA_FILE',
      'STORE_TLS_SERVER_NAME needs STORE_TLS_CA_FILE',
    ],
  });
});

test('what is loaded has the files that are named, and always checks the certificate of the server', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tls-files-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, 'an authority');
  t.deepEqual(await loadTls({ caFile, serverName: 'store.example' }), {
    rejectUnauthorized: true,
    ca: Buffer.from('an authority'),
    servername: 'store.example',
  });
  t.deepEqual(await loadTls({}), { rejectUnauthorized: true });
});
