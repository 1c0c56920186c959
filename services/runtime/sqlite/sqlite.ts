import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ConfigError } from '@agent-workflow/kit/env';
import { unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { unwatchedPart, type PartHealth } from '../health.ts';
import { createCheckpointer } from './checkpoint.ts';
import { codeOf, primaryCode, storageError, storageReason, translating } from './errors.ts';
import { commitGroup, type Outcome, type Pending } from './group.ts';
import { watchPresence } from './presence.ts';
import { openLogSync } from './sync.ts';

/** A file of SQLite as the adapters use it: prepared statements, and writes that share one transaction per tick. */
export interface Sqlite extends Disposable {
  /**
   * Prepares once; the same text gives the same statement. Outside of `write` a statement throws `Unavailable` while the
   * file cannot be read, and `StorageFailed` for a fault of its own.
   */
  readonly prepare: (sql: string) => StatementSync;
  /**
   * Runs `work` inside the next shared transaction and resolves after its COMMIT. `work` is atomic: when it throws,
   * only its own writes are undone. Works run in the order of the calls and see each other's writes. `work` may be run
   * again after its writes were undone, so it changes nothing but the file.
   * @throws Unavailable while the file cannot be written, or is no longer where it was opened: nothing of `work` is kept then,
   * unless a sync failed.
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
  /** Whom the file's failures and recoveries are reported to. */
  readonly health?: PartHealth | undefined;
}

/**
 * Opens the file, making it and its folder when needed, and brings its schema up to date.
 * @throws ConfigError, in one line, when the file cannot be used.
 */
export function openSqlite(options: SqliteOptions): Sqlite {
  const opening = new DisposableStack();
  try {
    return openFile(options, opening);
  } catch (error) {
    opening.dispose();
    throw cannotOpen(options.path, error);
  }
}

/** The error that stops a start, where its reason is known. */
function cannotOpen(path: string, error: unknown): unknown {
  const reason = fileReason(path, error);
  return reason === undefined ? error : new ConfigError(`${path} cannot be opened: ${reason}`, { cause: error });
}

/**
 * Why the file cannot be used; `undefined` for an error that lies in what was asked of it. Where SQLite reports no more than that
 * a file cannot be opened, or that a write failed, the system is asked what is wrong with the folder.
 */
function fileReason(path: string, error: unknown): string | undefined {
  const reason = storageReason(error);
  if (path === ':memory:' || !vagueCodes.has(primaryCode(error))) return reason;
  return folderReason(dirname(path)) ?? reason;
}

/** SQLITE_READONLY, SQLITE_IOERR and SQLITE_CANTOPEN. */
const vagueCodes: ReadonlySet<number> = new Set([8, 10, 14]);

/** Why nothing can be written into the folder; `undefined` when something can. */
function folderReason(folder: string): string | undefined {
  const file = join(folder, `writable-${String(process.pid)}`);
  try {
    writeFileSync(file, 'x');
  } catch (error) {
    return storageReason(error);
  } finally {
    removeIfThere(file);
  }
  return undefined;
}

function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It is found and written again the next time.
  }
}

/** What is opened before something fails is closed with `opening`. */
function openFile({ path, durability, migrations, health }: SqliteOptions, opening: DisposableStack): Sqlite {
  const onDisk = path !== ':memory:';
  if (onDisk) mkdirSync(dirname(path), { recursive: true });
  const db = opening.adopt(new DatabaseSync(path, { timeout: 5000 }), (opened) => opened.close());
  // Syncs and checkpoints are done beside the event loop: SQLite itself would do them in the middle of a COMMIT.
  db.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON;
     PRAGMA temp_store = MEMORY;`,
  );
  if (onDisk) settleLog(db, path);
  migrate(db, migrations, path);

  const presence = onDisk ? watchPresence(path) : undefined;
  const condition = opening.use(
    createCondition({
      health,
      probe: () => {
        const fault = presence?.fault();
        if (fault) throw fault;
        db.exec(`PRAGMA user_version = ${String(migrations.length)}`);
      },
      reasonOf: (error) => fileReason(path, error),
    }),
  );
  if (presence)
    opening.use(
      repeat(
        presenceMs,
        onceUntilMended(presence.fault, (fault) => condition.fails('write', fault)),
      ),
    );
  let isWriting = false;
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const made = translating(db.prepare(sql), (error) => {
      // Inside of a write the whole group is tried again, by what SQLite itself says.
      if (isWriting) return error;
      condition.fails('read', error);
      return storageError(error, 'the store cannot be read right now', path);
    });
    statements.set(sql, made);
    return made;
  };

  let broken: ServiceError | undefined;
  const logState = (): Readonly<Record<'log' | 'checkpointed', number>> => {
    const row = db.prepare('PRAGMA wal_checkpoint(NOOP)').get();
    return { log: Number(row?.['log']), checkpointed: Number(row?.['checkpointed']) };
  };
  const sync =
    onDisk && durability === 'full'
      ? opening.use(
          openLogSync(path, {
            frames: () => logState().log,
            onBroken: (error) => {
              condition.fails('sync', error);
              broken = unavailable('the store cannot be written right now', error);
            },
            onMended: () => {
              condition.works('sync');
              broken = undefined;
            },
          }),
        )
      : undefined;
  const checkpointer = onDisk
    ? opening.use(
        createCheckpointer(path, {
          isSound: () => broken === undefined,
          unsettledPages: () => {
            const { log, checkpointed } = logState();
            return log - checkpointed;
          },
          finish: () => {
            db.exec('PRAGMA wal_checkpoint(PASSIVE)');
          },
          onFailure: (error) => condition.fails('checkpoint', error),
          onSuccess: () => condition.works('checkpoint'),
        }),
      )
    : undefined;

  const commit = (group: readonly Pending[]): Outcome => {
    isWriting = true;
    try {
      return commitGroup(group, prepare);
    } finally {
      isWriting = false;
    }
  };

  let waiting: Pending[] = [];
  const flush = (): void => {
    const group = waiting;
    waiting = [];
    const fault = presence?.recentFault();
    const { written, refused } = fault ? refuseAll(group, fault) : commit(group);
    for (const [pending, error] of refused) {
      condition.fails('write', error);
      pending.reject(error);
    }
    if (written.length === 0) return;
    if (sync) sync.settle(written);
    else for (const write of written) write.resolve();
    // A sync in line has failed by now, if it does: then nothing is copied.
    checkpointer?.note(written.length);
  };

  const everything = opening.move();
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
            reject(storageError(error, 'the store cannot be written right now'));
          },
        });
      }),
    [Symbol.dispose]: () => {
      if (waiting.length > 0) flush();
      everything.dispose();
    },
  };
}

/** Milliseconds between two looks at whether a file is there to which nobody writes. */
const presenceMs = 1000;

const refuseAll = (group: readonly Pending[], fault: Error): Outcome => ({
  written: [],
  refused: group.map((pending) => [pending, fault]),
});

function repeat(ms: number, work: () => void): Disposable {
  const timer = setInterval(work, ms).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Reports a fault when it is first found, and again only after it was gone. */
function onceUntilMended(find: () => Error | undefined, report: (fault: Error) => void): () => void {
  let wasThere = false;
  return () => {
    const fault = find();
    if (fault && !wasThere) report(fault);
    wasThere = fault !== undefined;
  };
}

/** What a file is used for; each may fail by itself. */
type Use = 'read' | 'write' | 'sync' | 'checkpoint';

const failing: Readonly<Record<Use, string>> = {
  read: 'it cannot be read',
  write: 'it cannot be written',
  sync: 'what was written is not known to be on disk',
  checkpoint: 'its log cannot be copied into it',
};

/** How a file does. Disposal ends its clocks. */
interface Condition extends Disposable {
  /** An error for the store's reasons is reported; any other says nothing about the file. */
  readonly fails: (use: Use, error: unknown) => void;
  readonly works: (use: Use) => void;
}

/** Milliseconds between two attempts to write, while writes fail and nobody else may come to write. */
const probeMs = 1000;
/** Milliseconds after its last failure until reading counts as working again. */
const readAgainMs = 30_000;

interface ConditionOptions {
  readonly health: PartHealth | undefined;
  /** Writes a little: it finds out when the file can be written again. */
  readonly probe: () => void;
  /** Why the file cannot be used; `undefined` for an error that says nothing about the file. */
  readonly reasonOf: (error: unknown) => string | undefined;
}

/** Keeps for what a file cannot be used. */
function createCondition({ health = unwatchedPart, probe, reasonOf }: ConditionOptions): Condition {
  const reasons = new Map<Use, string>();
  /** By use, the code of the failure that its reason was found for: the same failure again has the same reason. */
  const codes = new Map<Use, unknown>();
  const clocks = new Map<Use, NodeJS.Timeout>();
  let isClosed = false;

  const after = (use: Use, ms: number, act: () => void): void => {
    clearTimeout(clocks.get(use));
    if (isClosed) return;
    clocks.set(use, setTimeout(act, ms).unref());
  };
  const works = (use: Use): void => {
    if (reasons.delete(use) && reasons.size === 0) health.works();
  };
  const tryToWrite = (): void => {
    try {
      probe();
    } catch (error) {
      fails('write', error);
      after('write', probeMs, tryToWrite);
      return;
    }
    clocks.delete('write');
    works('write');
  };
  const fails = (use: Use, error: unknown): void => {
    const isOurs = use === 'sync' || use === 'checkpoint';
    const code = codeOf(error);
    if (!reasons.has(use) || codes.get(use) !== code) {
      const reason = reasonOf(error) ?? (isOurs ? 'for a reason that the log has' : undefined);
      if (reason === undefined) return;
      codes.set(use, code);
      reasons.set(use, `${failing[use]}: ${reason}`);
    }
    health.fails([...reasons.values()].join('; '), error);
    if (use === 'read') after(use, readAgainMs, () => works(use));
    if (use === 'write' && !clocks.has(use)) after(use, probeMs, tryToWrite);
  };

  return {
    fails,
    works,
    [Symbol.dispose]: () => {
      isClosed = true;
      for (const clock of clocks.values()) clearTimeout(clock);
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

function migrate(db: DatabaseSync, migrations: readonly string[], path: string): void {
  const seen = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  if (seen > migrations.length) {
    throw new ConfigError(
      `${path}: the data was written by a newer version (schema ${String(seen)}, known ${String(migrations.length)})`,
    );
  }
  for (const [index, sql] of migrations.entries()) {
    if (index >= seen) db.exec(`BEGIN; ${sql}; PRAGMA user_version = ${String(index + 1)}; COMMIT`);
  }
}

const sqliteBusy = 5;

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
 * @throws ConfigError when another process holds it, or it cannot be used.
 */
export function openDataFolder(folder: string): DataFolder {
  if (folder === ':memory:') return { pathOf: () => ':memory:', [Symbol.dispose]: () => undefined };
  const path = resolve(folder);
  const held = holdOrRefuse(path);
  if (!held) throw new ConfigError(`DATA_DIR ${path} is in use by another process`);
  return { pathOf: (name) => join(path, name), [Symbol.dispose]: () => held[Symbol.dispose]() };
}

function holdOrRefuse(path: string): Disposable | undefined {
  try {
    return holdFolder(path);
  } catch (error) {
    throw cannotOpen(join(path, 'lock.sqlite'), error);
  }
}
