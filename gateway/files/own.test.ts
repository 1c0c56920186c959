import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openOwnFiles } from './own.ts';

async function makeFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'own-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

async function secretIn(folder: string): Promise<string> {
  await using own = await openOwnFiles((name) => join(folder, name));
  return own.secrets[0];
}

test('the secret is kept for the next start, for its owner alone', async (t) => {
  const folder = await makeFolder(t);
  const secret = await secretIn(folder);
  t.is(secret.length, 43);
  t.is(await secretIn(folder), secret);
  t.deepEqual(await readdir(folder), ['files.secret']);
  t.is((await stat(join(folder, 'files.secret'))).mode & 0o777, 0o600);
});

test('neither an empty file nor one that was not written to its end is taken for a secret', async (t) => {
  const folder = await makeFolder(t);
  const file = join(folder, 'files.secret');
  await writeFile(file, '');
  await writeFile(`${file}.new`, 'half');
  const secret = await secretIn(folder);
  t.is(secret.length, 43);
  t.is(await readFile(file, 'utf8'), `${secret}\n`);
  t.deepEqual(await readdir(folder), ['files.secret']);
});

test('a secret that cannot be kept stops the start with one line that names the data folder', async (t) => {
  const file = join(await makeFolder(t), 'file');
  await writeFile(file, '');
  await t.throwsAsync(secretIn(file), {
    name: 'ConfigError',
    message: `DATA_DIR cannot keep ${join(file, 'files.secret')}: the path leads through a file`,
  });
});
