import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { conflict } from '@agent-workflow/kit/errors';
import type { PartHealth } from '../health.ts';
import { openSqlite, type Sqlite } from './sqlite.ts';

const migrations = ['CREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT'];

test('writes of one tick share one transaction', async (t) => {
  const path = join(temporaryFolder(t), 'notes.sqlite');
  using db = openSqlite({ path, durability: 'normal', migrations });
  const before = commitsIn(path);
  await Promise.all(Array.from({ length: 50 }, (_, index) => db.write(() => add(db, String(index)))));
  t.is(commitsIn(path) - before, 1);
  await db.write(() => add(db, 'later'));
  t.is(commitsIn(path) - before, 2);
  t.is(count(db), 51);
});

test('a write resolves only after its commit: another connection sees it', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'notes.sqlite');
  using db = openSqlite({ path, durability: 'full', migrations });
  using reader = new DatabaseSync(path, { readOnly: true });
  const seen = (): number => Number(reader.prepare('SELECT count(*) AS n FROM notes').get()?.['n']);
  const written = db.write(() => add(db, 'a'));
  t.is(seen(), 0);
  await written;
  t.is(seen(), 1);
});

test('a log that grew long while processes died is worked into the file at the next start', (t) => {
  const path = join(temporaryFolder(t), 'notes.sqlite');
  openSqlite({ path, durability: 'full', migrations })[Symbol.dispose]();
  // As a process that died has left it: what is closed in order leaves no log.
  using dead = new DatabaseSync(path);
  dead.exec('PRAGMA wal_autocheckpoint = 0');
  const body = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 40; at++) dead.prepare('INSERT INTO notes VALUES (?, ?)').run(String(at), body);
  const before = statSync(`${path}-wal`).size;
  t.true(before > 40 * 1024 * 1024);
  using db = openSqlite({ path, durability: 'full', migrations });
  t.true(statSync(`${path}-wal`).size < before / 4);
  t.is(count(db), 40);
});

test('a work that fails undoes only itself', async (t) => {
  const db = openNotes(t);
  const works = [
    db.write(() => add(db, 'a')),
    db.write(() => {
      add(db, 'lost');
      throw conflict('not this one');
    }),
    db.write(() => add(db, 'b')),
  ];
  const results = await Promise.allSettled(works);
  t.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.deepEqual(
    db
      .prepare('SELECT id FROM notes ORDER BY id')
      .all()
      .map((row) => row['id']),
    ['a', 'b'],
  );
});

test('of writes that share a transaction only the one fails that the disk has no room for', async (t) => {
  const db = openNotes(t);
  db.prepare('PRAGMA max_page_count = 64').get();
  const results = await Promise.allSettled([
    db.write(() => add(db, 'a')),
    db.write(() => add(db, 'large', 'x'.repeat(1024 * 1024))),
    db.write(() => {
      throw conflict('not this one');
    }),
    db.write(() => add(db, 'b')),
  ]);
  t.deepEqual(
    results.map((result) => (result.status === 'rejected' ? (result.reason as { code: string }).code : 'written')),
    ['written', 'Unavailable', 'Conflict', 'written'],
  );
  t.is(count(db), 2);
});

test('a file that has no room is reported once per failure, and reported to work when it can be written again', async (t) => {
  const reports: string[] = [];
  const worksAgain = Promise.withResolvers<undefined>();
  const health = {
    fails: (reason: string) => void reports.push(reason),
    works: () => worksAgain.resolve(undefined),
  };
  const db = openNotes(t, health);
  db.prepare('PRAGMA max_page_count = 3').get();
  const large = 'x'.repeat(1024 * 1024);
  await t.throwsAsync(
    db.write(() => add(db, 'a', large)),
    { code: 'Unavailable', message: 'the store cannot be written right now' },
  );
  t.deepEqual(reports, ['it cannot be written: the disk is full']);
  t.is(count(db), 0, 'it can be read');
  db.prepare('PRAGMA max_page_count = 1000000').get();
  // The clock of the file itself holds no process.
  const alive = setInterval(() => undefined, 1000);
  await worksAgain.promise;
  clearInterval(alive);
  await db.write(() => add(db, 'a', large));
  t.is(count(db), 1);
});

for (const durability of ['full', 'normal'] as const)
  test(`a file (${durability}) that was put aside or replaced takes no writes and is reported, until it is back`, async (t) => {
    const folder = join(temporaryFolder(t), 'data');
    const path = join(folder, 'notes.sqlite');
    const reported = Promise.withResolvers<string>();
    const mended = Promise.withResolvers<undefined>();
    const health: PartHealth = { fails: (reason) => reported.resolve(reason), works: () => mended.resolve(undefined) };
    using db = openSqlite({ path, durability, migrations, health });
    await db.write(() => add(db, 'kept'));
    // The clocks of the file itself hold no process.
    const alive = setInterval(() => undefined, 1000);
    t.teardown(() => clearInterval(alive));
    renameSync(folder, `${folder}-aside`);
    t.is(await reported.promise, 'it cannot be written: the file or its folder was removed');
    const refusal = { code: 'Unavailable', message: 'the store cannot be written right now' };
    await t.throwsAsync(
      db.write(() => add(db, 'lost')),
      refusal,
    );
    t.is(count(db), 1, 'what is there can be read');
    renameSync(`${folder}-aside`, folder);
    await mended.promise;
    await db.write(() => add(db, 'more'));
    t.is(count(db), 2);
    rmSync(path);
    writeFileSync(path, 'something else');
    await t.throwsAsync(writeOn(db), refusal);
  });

/** Writes until it is refused. */
async function writeOn(db: Sqlite): Promise<never> {
  for (let at = 0; ; at++) await db.write(() => add(db, `row ${String(at)}`));
}

test('a file that is damaged stops its opening with one line, and a damaged page is Unavailable to whoever reads it', async (t) => {
  const folder = temporaryFolder(t);
  const rubbish = join(folder, 'rubbish.sqlite');
  writeFileSync(rubbish, 'no database at all, and rather long for a header'.repeat(100));
  t.throws(() => openSqlite({ path: rubbish, durability: 'full', migrations }), {
    name: 'ConfigError',
    message: `${rubbish} cannot be opened: the file is damaged`,
  });

  const path = join(folder, 'notes.sqlite');
  {
    using db = openSqlite({ path, durability: 'full', migrations });
    for (let at = 0; at < 100; at++) await db.write(() => add(db, String(at), 'x'.repeat(2000)));
  }
  const bytes = readFileSync(path);
  // The first page holds the schema, which is read at the start.
  bytes.fill(0xff, 4096, bytes.length);
  writeFileSync(path, bytes);
  const reports: string[] = [];
  const health = { fails: (reason: string) => void reports.push(reason), works: () => t.fail() };
  using damaged = openSqlite({ path, durability: 'full', migrations, health });
  const refused = { code: 'Unavailable', message: 'the store cannot be read right now' };
  t.throws(() => damaged.prepare('SELECT * FROM notes').all(), refused);
  t.throws(() => [...damaged.prepare('SELECT * FROM notes').iterate()], refused);
  // What SQLite can still read is not distinguished from what is whole.
  t.throws(() => damaged.prepare('SELECT 1').get(), refused);
  await t.throwsAsync(
    damaged.write(() => add(damaged, 'a')),
    refused,
  );
  t.deepEqual(new Set(reports), new Set(['it cannot be read: the file is damaged']));
});

test('a table that is missing is damage of the file, whether it is read or written; an unknown function is a fault of ours', async (t) => {
  for (const use of [
    (db: Sqlite) => Promise.resolve().then(() => count(db)),
    (db: Sqlite) => db.write(() => add(db, 'a')),
  ]) {
    const path = join(temporaryFolder(t), 'notes.sqlite');
    const reports: string[] = [];
    const health = { fails: (reason: string) => void reports.push(reason), works: () => t.fail() };
    using db = openSqlite({ path, durability: 'full', migrations, health });
    t.throws(() => db.prepare('SELECT unknown(1)'), { code: 'StorageFailed' });
    t.deepEqual(reports, []);
    using other = new DatabaseSync(path);
    other.exec('DROP TABLE notes');
    await t.throwsAsync(use(db), { code: 'Unavailable' });
    t.deepEqual(reports, ['it cannot be read: the file is damaged']);
    t.throws(() => db.prepare('SELECT 1').get(), { code: 'Unavailable' });
  }
});

test('an error of ours passes through a write; one of SQLite becomes StorageFailed without its text', async (t) => {
  const db = openNotes(t);
  await db.write(() => add(db, 'a'));
  await t.throwsAsync(
    db.write(() => {
      throw conflict('taken');
    }),
    { code: 'Conflict', message: 'taken' },
  );
  await t.throwsAsync(
    db.write(() => add(db, 'a')),
    { code: 'StorageFailed', message: 'the store failed' },
  );
});

test('works run in order and see what those before them wrote', async (t) => {
  const db = openNotes(t);
  const counts = await Promise.all(['a', 'b', 'c'].map((id) => db.write(() => addAndCount(db, id))));
  t.deepEqual(counts, [1, 2, 3]);
});

test('what waits when the file is closed is written first', async (t) => {
  const path = join(temporaryFolder(t), 'notes.sqlite');
  const db = openSqlite({ path, durability: 'normal', migrations });
  const written = db.write(() => add(db, 'a'));
  db[Symbol.dispose]();
  await written;
  using again = openSqlite({ path, durability: 'normal', migrations });
  t.is(count(again), 1);
});

test('a write to a file that was closed here fails as one that will not come back, also when the file is gone', async (t) => {
  const folder = temporaryFolder(t);
  const db = openSqlite({ path: join(folder, 'notes.sqlite'), durability: 'normal', migrations });
  db[Symbol.dispose]();
  for (const name of ['notes.sqlite', 'notes.sqlite-wal']) rmSync(join(folder, name), { force: true });
  await t.throwsAsync(
    db.write(() => add(db, 'late')),
    { code: 'StorageFailed' },
  );
});

test('each migration is applied once, and a newer file is refused', (t) => {
  const path = join(temporaryFolder(t), 'deep', 'notes.sqlite');
  openSqlite({ path, durability: 'normal', migrations })[Symbol.dispose]();
  const more = [...migrations, 'ALTER TABLE notes ADD COLUMN at INTEGER'];
  openSqlite({ path, durability: 'normal', migrations: more })[Symbol.dispose]();
  openSqlite({ path, durability: 'normal', migrations: more })[Symbol.dispose]();
  t.throws(() => openSqlite({ path, durability: 'normal', migrations }), {
    message: /newer version \(schema 101, known 100\)/,
  });
});

test('a file of a version before the first release is refused, and stays as it is', (t) => {
  const path = join(temporaryFolder(t), 'notes.sqlite');
  {
    using old = new DatabaseSync(path);
    old.exec('CREATE TABLE notes (id TEXT); PRAGMA user_version = 18');
  }
  t.throws(() => openSqlite({ path, durability: 'normal', migrations }), {
    instanceOf: ConfigError,
    message: /^\/.*\/notes\.sqlite: the data has schema 18, and the last commit that reads it is \w+$/,
  });
  using old = new DatabaseSync(path);
  t.is(old.prepare('PRAGMA user_version').get()?.['user_version'], 18);
});

test('a new file has pages of the size that was asked for', (t) => {
  const path = join(temporaryFolder(t), 'notes.sqlite');
  using db = openSqlite({ path, durability: 'full', migrations, pageBytes: 1024 });
  t.is(db.prepare('PRAGMA page_size').get()?.['page_size'], 1024);
});

test('a migration that fails leaves the file as it was', (t) => {
  const path = join(temporaryFolder(t), 'notes.sqlite');
  openSqlite({ path, durability: 'normal', migrations })[Symbol.dispose]();
  const broken = [...migrations, 'CREATE TABLE half (id TEXT); SELECT nonsense'];
  t.throws(() => openSqlite({ path, durability: 'normal', migrations: broken }), { message: /nonsense/ });
  using db = openSqlite({ path, durability: 'normal', migrations });
  t.deepEqual(db.prepare(`SELECT name FROM sqlite_master WHERE name = 'half'`).all(), []);
});

const add = (db: Sqlite, id: string, body = 'text'): unknown =>
  db.prepare('INSERT INTO notes (id, body) VALUES (?, ?)').run(id, body);
const count = (db: Sqlite): number => Number(db.prepare('SELECT count(*) AS n FROM notes').get()?.['n']);

/** How many transactions the write-ahead log holds: a frame that ends one carries the size of the file after it. */
function commitsIn(path: string): number {
  const log = readFileSync(`${path}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at < log.length; at += frame) if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  return commits;
}

function addAndCount(db: Sqlite, id: string): number {
  add(db, id);
  return count(db);
}

function openNotes(t: ExecutionContext, health?: PartHealth): Sqlite {
  const db = openSqlite({ path: join(temporaryFolder(t), 'notes.sqlite'), durability: 'normal', migrations, health });
  t.teardown(() => {
    db[Symbol.dispose]();
  });
  return db;
}

function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-'));
  t.teardown(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
