import fs, { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { PartHealth } from '../health.ts';
import { openSqlite, type Sqlite } from './sqlite.ts';

const migrations = ['CREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT'];
const frameBytes = 4096 + 24;

/** Stands between the store and the disk. */
const disk = { fails: false, written: new Set<number>() };
const { fdatasync, fdatasyncSync, writeSync: write } = fs;
const failure = (): Error => Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
test.before(() => {
  fs.fdatasyncSync = (fd) => {
    if (disk.fails) throw failure();
    fdatasyncSync(fd);
  };
  fs.fdatasync = ((fd: number, done: (error: Error | null) => void) => {
    if (disk.fails) setImmediate(done, failure());
    else fdatasync(fd, done);
  }) as typeof fs.fdatasync;
  fs.writeSync = ((fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
    disk.written.add(position);
    return write(fd, bytes, offset, length, position);
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
});
test.after(() => {
  Object.assign(fs, { fdatasync, fdatasyncSync, writeSync: write });
  syncBuiltinESMExports();
});

test.serial(
  'after a sync that failed the log is written again before anything else is, and then all goes on',
  async (t) => {
    const reports: string[] = [];
    const { path, works, health } = watchedFile(t, reports);
    using db = openSqlite({ path, durability: 'full', migrations, health });
    await add(db, 'before');
    disk.fails = true;
    await t.throwsAsync(add(db, 'during'), { code: 'Unavailable', message: 'the store cannot be written right now' });
    await t.throwsAsync(Promise.all([add(db, 'a'), add(db, 'b')]), { code: 'Unavailable' });
    t.deepEqual(new Set(reports), new Set(['what was written is not known to be on disk: the disk reports errors']));
    t.true(count(db) >= 1, 'it can be read');
    disk.written.clear();
    disk.fails = false;
    await alive(works);
    t.true(disk.written.has(32) && disk.written.has(32 + frameBytes), 'each frame was written again');
    await add(db, 'after');
    copyFileSync(path, `${path}-copy`);
    copyFileSync(`${path}-wal`, `${path}-copy-wal`);
    using copy = openSqlite({ path: `${path}-copy`, durability: 'normal', migrations });
    t.is(count(copy), count(db));
  },
);

test.serial(
  'a log of which the system has lost a page takes no more writes, and a start finds all that was told',
  async (t) => {
    const { path, health, recoveries } = watchedFile(t, []);
    const copy = `${path}-copy`;
    {
      using db = openSqlite({ path, durability: 'full', migrations, health });
      for (const id of ['a', 'b', 'c']) await add(db, id);
      disk.fails = true;
      await t.throwsAsync(add(db, 'lost'), { code: 'Unavailable' });
      const last = openSync(`${path}-wal`, 'r+');
      const frames = Number(db.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.['log']);
      writeSync(last, Buffer.alloc(4096), 0, 4096, 32 + (frames - 1) * frameBytes + 24);
      closeSync(last);
      disk.fails = false;
      disk.written.clear();
      const from = recoveries();
      while (!disk.written.has(0)) await new Promise((resolve) => setTimeout(resolve, 20));
      await t.throwsAsync(add(db, 'refused'), { code: 'Unavailable' });
      t.is(recoveries(), from);
      copyFileSync(path, copy);
      copyFileSync(`${path}-wal`, `${copy}-wal`);
    }
    for (const each of [copy, path]) {
      using again = openSqlite({ path: each, durability: 'full', migrations });
      t.deepEqual(idsIn(again), ['a', 'b', 'c'], each === path ? 'closed in order' : 'killed');
      await add(again, 'd');
    }
  },
);

test.serial('of a log that is not known to be on disk nothing is copied into its file', async (t) => {
  const reports: string[] = [];
  const { path, works, health } = watchedFile(t, reports);
  using db = openSqlite({ path, durability: 'full', migrations, health });
  for (let n = 0; n < 15; n += 1) await add(db, `before ${String(n)}`);
  disk.fails = true;
  const large = db.write(() => db.prepare('INSERT INTO notes (id, body) VALUES (?, ?)').run('large', 'x'.repeat(4e6)));
  await t.throwsAsync(large, { code: 'Unavailable' });
  // It is reported once more by each attempt to make it good, of which two take longer than a copy.
  while (reports.length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
  t.true(fs.statSync(path).size < 100_000);
  disk.fails = false;
  await alive(works);
});

test.serial('a sync that fails after its file was closed is no failure of that file', async (t) => {
  const reports: string[] = [];
  const { path, health } = watchedFile(t, reports);
  let failNow = (): void => t.fail('nothing was synced beside the event loop');
  const { fdatasync: usual } = fs;
  fs.fdatasync = ((_: number, done: (error: Error | null) => void) => {
    failNow = () => done(failure());
  }) as typeof fs.fdatasync;
  syncBuiltinESMExports();
  t.teardown(() => {
    fs.fdatasync = usual;
    syncBuiltinESMExports();
  });
  {
    using db = openSqlite({ path, durability: 'full', migrations, health });
    const writes = [add(db, 'a'), add(db, 'b')];
    await new Promise((resolve) => setImmediate(resolve));
    db[Symbol.dispose]();
    await Promise.all(writes);
  }
  failNow();
  t.deepEqual(reports, []);
});

const add = (db: Sqlite, id: string): Promise<unknown> =>
  db.write(() => db.prepare('INSERT INTO notes (id, body) VALUES (?, ?)').run(id, 'text'));
const idsIn = (db: Sqlite): unknown[] =>
  db
    .prepare('SELECT id FROM notes ORDER BY id')
    .all()
    .map(({ id }) => id);
const count = (db: Sqlite): number => Number(db.prepare('SELECT count(*) AS n FROM notes').get()?.['n']);

/** The clocks of a file hold no process. */
async function alive(waited: Promise<unknown>): Promise<void> {
  const timer = setInterval(() => undefined, 1000);
  await waited;
  clearInterval(timer);
}

interface Watched {
  readonly path: string;
  readonly health: PartHealth;
  /** Resolves when the file is reported to work again. */
  readonly works: Promise<undefined>;
  readonly recoveries: () => number;
}

function watchedFile(t: ExecutionContext, reports: string[]): Watched {
  const folder = mkdtempSync(join(tmpdir(), 'kit-'));
  t.teardown(() => {
    disk.fails = false;
    rmSync(folder, { recursive: true, force: true });
  });
  const works = Promise.withResolvers<undefined>();
  let recoveries = 0;
  const health = {
    fails: (reason: string) => void reports.push(reason),
    works: () => {
      recoveries++;
      works.resolve(undefined);
    },
  };
  return { path: join(folder, 'notes.sqlite'), health, works: works.promise, recoveries: () => recoveries };
}
