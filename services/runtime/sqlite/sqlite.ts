import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ConfigError } from '@agent-workflow/kit/env';
import { missingMigrations, newestVersion } from '../data-version.ts';
import type { PartHealth } from '../health.ts';
import { Condition } from './condition.ts';
import { storageError, translating } from './errors.ts';
import { cannotOpen } from './file-reason.ts';
import { createGroupCommit } from './group.ts';
import { checkIntegrity } from './integrity.ts';
import { openWriteAheadLog } from './write-ahead-log.ts';

/** A file of SQLite as the adapters use it: prepared statements, and writes that share one transaction per tick. */
export interface Sqlite extends Disposable {
  /**
   * Prepares each text once. A statement is used where it was prepared: outside of `write`, where it throws `Unavailable` while
   * the file cannot be read and `StorageFailed` for a fault of its own; or inside, where `write` translates what SQLite throws.
   */
  readonly prepare: (sql: string) => StatementSync;
  /** Prepares a statement outside of `write` that is used inside of it only. */
  readonly prepareWrite: (sql: string) => StatementSync;
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
  /** SQL texts applied once each, in order: the first makes the schema. The file remembers its version. Only ever append. */
  readonly migrations: readonly string[];
  /** Bytes of a page; 4096 unless given. Small pages are for files with many small changes. */
  readonly pageBytes?: number;
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

const usualPageBytes = 4096;

/** Syncs and checkpoints are done beside the event loop: SQLite itself would do them in the middle of a COMMIT. */
const pragmas = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON;
  PRAGMA temp_store = MEMORY;`;

/** What is opened before something fails is closed with `opening`. */
function openFile(
  { path, durability, migrations, pageBytes = usualPageBytes, health }: SqliteOptions,
  opening: DisposableStack,
): Sqlite {
  const onDisk = path !== ':memory:';
  if (onDisk) {
    mkdirSync(dirname(path), { recursive: true });
    refuseEmptied(path);
  }
  const db = opening.adopt(new DatabaseSync(path, { timeout: 5000 }), (opened) => opened.close());
  db.exec(`PRAGMA page_size = ${String(pageBytes)}; ${pragmas}`);
  if (onDisk) settleLog(db, path);
  migrate(db, migrations, path);
  if (onDisk) settleLog(db, path);

  const presence = onDisk ? watchPresence(path) : undefined;
  const condition = opening.use(
    new Condition({
      path,
      health,
      probe: () => {
        const fault = presence?.fault();
        if (fault) throw fault;
        db.exec(`PRAGMA user_version = ${String(newestVersion(migrations))}`);
      },
    }),
  );
  if (presence) opening.use(reportAbsence(presence, condition));
  if (onDisk) opening.use(checkIntegrity(path, (damage) => condition.fails('read', damage)));
  const log = onDisk ? opening.use(openWriteAheadLog(db, { path, durability, condition })) : undefined;

  const plain = cached((sql) => db.prepare(sql));
  const refuse = (): void => {
    if (condition.refusal) throw condition.refusal;
  };
  const translate = (error: unknown): unknown => {
    condition.fails('read', error);
    return condition.refusal ?? storageError(error, 'the store cannot be read right now', path);
  };
  const reading = cached((sql) => translating(() => db.prepare(sql), { refuse, translate }));
  const group = createGroupCommit({
    prepare: plain,
    refusal: () => condition.refusal ?? log?.refusal(),
    // A file that was closed here does not come back: a write to it fails at once.
    fault: () => (db.isOpen ? presence?.recentFault() : undefined),
    onRefused: (error) => condition.fails('write', error),
    settle: log?.settle,
    onCommitted: log?.note ?? none,
  });

  const everything = opening.move();
  return {
    prepare: (sql) => (group.isCommitting() ? plain(sql) : reading(sql)),
    prepareWrite: plain,
    write: group.write,
    [Symbol.dispose]: () => {
      group.flush();
      everything.dispose();
    },
  };
}

/** Prepares each text once. */
function cached(prepare: (sql: string) => StatementSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = prepare(sql)));
    return statement;
  };
}

const none = (): undefined => undefined;

/** Whether a file of SQLite and its log are still where they were opened. */
interface Presence {
  /** Why nothing may be written; `undefined` while both are there. */
  readonly fault: () => Error | undefined;
  /** The same for frequent callers: the answer is kept for a few milliseconds. */
  readonly recentFault: () => Error | undefined;
}

/** Milliseconds for which an answer is kept. A check takes 3 µs, so that busy writers spend less than a thousandth of their time on it. */
const freshMs = 5;

/**
 * A process goes on writing to files that were removed or put aside, and loses all of it when it ends. So a writer checks before
 * it writes. Files that are put back where they were are there again.
 */
function watchPresence(path: string): Presence {
  const opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }));
  let checkedAt = -Infinity;
  let found: Error | undefined;
  const fault = (): Error | undefined => {
    checkedAt = performance.now();
    const missing = opened.find(({ file, identity }) => identityOf(file) !== identity);
    found = missing && Object.assign(new Error(`${missing.file} was removed or replaced`), { code: 'ENOENT' });
    return found;
  };
  return { fault, recentFault: () => (performance.now() - checkedAt > freshMs ? fault() : found) };
}

/**
 * Refuses a file that had content and has none: SQLite would take it for a new one, remove its log, and answer as if nothing had ever been
 * written. A process that died while it made the file leaves one without bytes that nobody has changed since, and no log.
 * @throws ConfigError
 */
function refuseEmptied(path: string): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file && file.size > 0) return;
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  const wasEmptied = file !== undefined && file.birthtimeMs > 0 && file.mtimeMs > file.birthtimeMs;
  if (!wasEmptied && !log?.size) return;
  throw new ConfigError(
    `${path} cannot be opened: it is ${file ? 'empty' : 'not there, while its log is'}; restore it, or remove what is left of it to begin without data`,
  );
}

/** Identifies a file, so that another in its place is noticed; `undefined` when there is none. */
function identityOf(file: string): string | undefined {
  const { dev, ino } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return ino === undefined ? undefined : `${String(dev)}:${String(ino)}`;
}

/** Milliseconds between two checks whether a file is there to which nobody writes. */
const presenceMs = 1000;

/** Reports a file that is missing, also while nobody writes to it: once, and again only after it was there. */
function reportAbsence({ fault }: Pick<Presence, 'fault'>, condition: Condition): Disposable {
  let wasMissing = false;
  const check = (): void => {
    const missing = fault();
    if (missing && !wasMissing) condition.fails('write', missing);
    wasMissing = missing !== undefined;
  };
  const timer = setInterval(check, presenceMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
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
  for (const { version, migration } of missingMigrations(migrations, seen, path))
    db.exec(`BEGIN; ${migration}; PRAGMA user_version = ${String(version)}; COMMIT`);
}
