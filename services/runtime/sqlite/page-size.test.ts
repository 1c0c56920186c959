import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { pageBytesOf } from './page-size.ts';
import { openSqlite } from './sqlite.ts';

const migrations = ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT'];

function makePath(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'pages-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return join(folder, 'a.sqlite');
}

function pageBytesIn(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true });
  return pageBytesOf(db);
}

async function addNotes(path: string, pageBytes: number, count: number): Promise<number> {
  using db = openSqlite({ path, durability: 'full', migrations, pageBytes });
  for (let note = 0; note < count; note++)
    await db.write(() => db.prepare('INSERT INTO notes (text) VALUES (?)').run(`note ${String(note)}`));
  return Number(db.prepare('SELECT count(*) AS count FROM notes').get()?.['count']);
}

test('a new file has pages of the size that was asked for', async (t) => {
  const path = makePath(t);
  t.is(await addNotes(path, 1024, 3), 3);
  t.is(pageBytesIn(path), 1024);
});

test('a file with pages of another size is copied when it is opened, and loses nothing', async (t) => {
  const path = makePath(t);
  t.is(await addNotes(path, 4096, 300), 300);
  t.is(pageBytesIn(path), 4096);
  const before = statSync(path).size;
  t.is(await addNotes(path, 1024, 1), 301);
  t.is(pageBytesIn(path), 1024);
  t.true(statSync(path).size < before);
  t.is(await addNotes(path, 1024, 1), 302);
});

test('a file that another process reads is opened with the pages that it has', async (t) => {
  const path = makePath(t);
  await addNotes(path, 4096, 1);
  using reader = new DatabaseSync(path);
  reader.exec('BEGIN; SELECT * FROM notes');
  t.is(await addNotes(path, 1024, 1), 2);
  t.is(pageBytesIn(path), 4096);
});
