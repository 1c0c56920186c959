import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ConfigError } from '../env.ts';
import { ServiceError, unavailable } from '../errors.ts';
import { createCheckpointer } from './sqlite-checkpoint.ts';
import { openLogSync } from './sqlite-sync.ts';

/** A file of SQLite as the adapters use it: prepared statements, and writes that share one transaction per tick. */
export interface Sqlite extends Disposable {
  /** Prepares once; the same text gives the same statement. */
  readonly prepare: (sql: string) => StatementSync;
  /**
   * Runs `work` inside the next shared transaction and resolves after its COMMIT. `work` is atomic: when it throws,
   * only its own writes are undone. Works run in the order of the calls and see each other's writes. `work` may be run
   * again after its writes were undone, so it changes nothing but the file.
   */
  readonly write: <T>(work: () => T) => Promise<T>;
}

export interface SqliteOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  /** `full`: a resolved write survives a power cut. `normal`: it survives the death of the process. */
  readonly durability: 'full' | 'normal';
  /** SQL texts applied once each, in order; the file remembers how many it has seen. Only ever append. */
  readonly migrations: readonly string[];
}

interface Pending {
  readonly run: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Opens the file, making it and its folder when needed, and brings its schema up to date. */
export function openSqlite({ path, durability, migrations }: SqliteOptions): Sqlite {
  const onDisk = path !== ':memory:';
  if (onDisk) mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path, { timeout: 5000 });
  // Syncs and checkpoints are done beside the event loop: SQLite itself would do them in the middle of a COMMIT.
  db.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON;
     PRAGMA temp_store = MEMORY;`,
  );
  try {
    if (onDisk) settleLog(db, path);
    migrate(db, migrations);
  } catch (error) {
    db.close();
    throw error;
  }

  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const made = db.prepare(sql);
    statements.set(sql, made);
    return made;
  };

  let broken: ServiceError | undefined;
  const sync =
    onDisk && durability === 'full'
      ? openLogSync(path, (error) => {
          broken = storageError(error);
        })
      : undefined;
  const checkpointer = onDisk
    ? createCheckpointer(path, {
        unsettledPages: () => {
          const log = prepare('PRAGMA wal_checkpoint(NOOP)').get();
          return Number(log?.['log']) - Number(log?.['checkpointed']);
        },
        finish: () => {
          prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
        },
      })
    : undefined;

  let waiting: Pending[] = [];
  const flush = (): void => {
    const group = waiting;
    waiting = [];
    const written = commitGroup(group, prepare);
    if (written.length > 0) checkpointer?.note(written.length);
    if (sync && written.length > 0) sync.settle(written);
    else for (const write of written) write.resolve();
  };

  return {
    prepare,
    write: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        if (broken) {
          reject(broken);
          return;
        }
        let result: T;
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({
          run: () => {
            result = work();
          },
          resolve: () => {
            resolve(result);
          },
          reject: (error) => {
            reject(storageError(error));
          },
        });
      }),
    [Symbol.dispose]: () => {
      if (waiting.length > 0) flush();
      checkpointer?.[Symbol.dispose]();
      sync?.[Symbol.dispose]();
      db.close();
    },
  };
}

/** Many times what fills before a log is worked into its file. */
const longLogBytes = 32 * 1024 * 1024;

/**
 * Works a long log into its file before anything else. Processes that die again and again before the thread has done so would
 * each leave it longer, and each start reads it whole.
 */
function settleLog(db: DatabaseSync, path: string): void {
  const { size } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? { size: 0 };
  if (size > longLogBytes) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** One transaction for the whole group, however many runs commit in this tick; gives what is in the log now. */
function commitGroup(group: readonly Pending[], prepare: Sqlite['prepare']): readonly Pending[] {
  // Savepoints cost as much as the writes they guard, and failures are rare: a group in which something fails is undone and
  // run once more, each work behind a savepoint of its own.
  let done = tryTogether(group, prepare);
  try {
    if (!done) {
      prepare('BEGIN IMMEDIATE').run();
      done = group.filter((pending) => runAlone(pending, prepare));
    }
    prepare('COMMIT').run();
  } catch (error) {
    rollBack(prepare);
    for (const pending of group) pending.reject(error);
    return [];
  }
  return done;
}

/** Runs the group in a transaction that is left open; `undefined`, with nothing written, when any of it fails. */
function tryTogether(group: readonly Pending[], prepare: Sqlite['prepare']): readonly Pending[] | undefined {
  try {
    prepare('BEGIN IMMEDIATE').run();
    for (const pending of group) pending.run();
    return group;
  } catch {
    rollBack(prepare);
    return undefined;
  }
}

/** Runs one work inside a savepoint; a failure undoes it alone and rejects it. */
function runAlone(pending: Pending, prepare: Sqlite['prepare']): boolean {
  prepare('SAVEPOINT work').run();
  try {
    pending.run();
    prepare('RELEASE work').run();
    return true;
  } catch (error) {
    prepare('ROLLBACK TO work').run();
    prepare('RELEASE work').run();
    pending.reject(error);
    return false;
  }
}

function rollBack(prepare: Sqlite['prepare']): void {
  try {
    prepare('ROLLBACK').run();
  } catch {
    // BEGIN itself had failed: there is nothing to roll back.
  }
}

function migrate(db: DatabaseSync, migrations: readonly string[]): void {
  const seen = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  if (seen > migrations.length) {
    throw new Error(
      `the data was written by a newer version (schema ${String(seen)}, known ${String(migrations.length)})`,
    );
  }
  for (const [index, sql] of migrations.entries()) {
    if (index >= seen) db.exec(`BEGIN; ${sql}; PRAGMA user_version = ${String(index + 1)}; COMMIT`);
  }
}

const sqliteFull = 13;
const sqliteBusy = 5;

function storageError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = primaryCode(error);
  if (code === sqliteBusy || code === sqliteFull) return unavailable('the store cannot be written right now', error);
  return new ServiceError('StorageFailed', 'the store failed', { cause: error });
}

/** The primary result code of SQLite; 0 for errors of another kind. */
const primaryCode = (error: unknown): number =>
  typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) & 0xff : 0;

/**
 * Holds a folder for this process until disposed or dead: the operating system lets go of the lock by itself.
 * @returns `undefined` when another process holds it.
 */
export function holdFolder(folder: string): Disposable | undefined {
  mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(`${folder}/lock.sqlite`, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;');
  } catch (error) {
    db.close();
    if (primaryCode(error) === sqliteBusy) return undefined;
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      db.close();
    },
  };
}

/** A folder of data files. Disposal lets go of it. */
export interface DataFolder extends Disposable {
  /** Where the file of this name is kept; `:memory:` when nothing is. */
  readonly pathOf: (name: string) => string;
}

/**
 * Holds the data folder of this process; `:memory:` keeps nothing and needs no holding.
 * @throws ConfigError when another process holds it.
 */
export function openDataFolder(folder: string): DataFolder {
  if (folder === ':memory:') return { pathOf: () => ':memory:', [Symbol.dispose]: () => undefined };
  const path = resolve(folder);
  const held = holdFolder(path);
  if (!held) throw new ConfigError(`DATA_DIR ${path} is in use by another process`);
  return { pathOf: (name) => join(path, name), [Symbol.dispose]: () => held[Symbol.dispose]() };
}
