import type { StatementSync } from 'node:sqlite';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';

/** Why a file cannot be used that is not what was written into it. */
export const damaged = 'the file is damaged';

/** Why a file cannot be used, by the primary result code of SQLite. All of these are the store's reasons, not the request's. */
const bySqlite: Readonly<Record<number, string>> = {
  3: 'access is denied',
  5: 'another process holds the file',
  6: 'another connection holds the file',
  7: 'memory is short',
  8: 'the file system is read-only',
  10: 'the disk reports errors',
  11: damaged,
  13: 'the disk is full',
  14: 'the file cannot be opened',
  15: 'the file is locked in a way that is not known',
  22: 'the file is too large for the disk',
  26: damaged,
};

/** The same by extended result code, where that says more. */
const byExtended: Readonly<Record<number, string>> = {
  // SQLITE_IOERR_SHMSIZE: there is no room for the index of the log.
  4874: 'the disk is full',
};

/** The same by the code of a system call. */
const bySystem: Readonly<Record<string, string>> = {
  EACCES: 'access is denied',
  EDQUOT: 'the disk is full',
  EEXIST: 'the path leads through a file',
  EFBIG: 'the file is too large for the disk',
  EIO: 'the disk reports errors',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'no file descriptors are left',
  ENAMETOOLONG: 'its name is too long',
  ENFILE: 'no file descriptors are left',
  ENOENT: 'the file or its folder was removed',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'the path leads through a file',
  EPERM: 'access is denied',
  EROFS: 'the file system is read-only',
};

const numberOf = (error: unknown): number =>
  typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) : 0;

/** The primary result code of SQLite; 0 for errors of another kind. */
export const primaryCode = (error: unknown): number => numberOf(error) & 0xff;

/** Identifies a failure: the result code of SQLite, or the code of a system call. */
export const codeOf = (error: unknown): number | string =>
  error instanceof Error && 'code' in error && error.code !== 'ERR_SQLITE_ERROR' ? String(error.code) : numberOf(error);

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes: ReadonlySet<number> = new Set([11, 26]);

/** SQLite calls it a fault of the statement; the migrations have made every table that a statement names. */
const missingTable = /^no such table\b/;

/** Whether the file is not what was written into it: no later attempt finds it whole. */
export const isDamage = (error: unknown): boolean => damageCodes.has(primaryCode(error)) || isTableMissing(error);

const isTableMissing = (error: unknown): boolean =>
  primaryCode(error) === 1 && error instanceof Error && missingTable.test(error.message);

/** Why the file cannot be used for now; `undefined` for an error that lies in what was asked of it. */
export function storageReason(error: unknown): string | undefined {
  const system = error instanceof Error && 'code' in error ? bySystem[String(error.code)] : undefined;
  return system ?? byExtended[numberOf(error)] ?? bySqlite[primaryCode(error)];
}

/**
 * The error that a caller gets for what SQLite or the file system threw; the file is named for the log alone. An error of ours is
 * left as it is.
 */
export function storageError(error: unknown, message: string, file?: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const reason = storageReason(error);
  const cause = file === undefined ? error : new Error(`${file}: ${String(reason)}`, { cause: error });
  if (reason !== undefined) return unavailable(message, cause);
  return new ServiceError('StorageFailed', 'the store failed', { cause: error });
}

interface Translation {
  /** Called before each use. @throws why nothing may be read. */
  readonly refuse: () => void;
  /** What is thrown for what SQLite threw. */
  readonly translate: (error: unknown) => unknown;
}

/** Prepares a statement whose failures pass through `translate`, and so does the failure to prepare it. */
export function translating(prepare: () => StatementSync, { refuse, translate }: Translation): StatementSync {
  const around =
    <A extends readonly unknown[], R>(work: (...values: A) => R) =>
    (...values: A): R => {
      refuse();
      try {
        return work(...values);
      } catch (error) {
        throw translate(error);
      }
    };
  const statement = around(prepare)();
  const iterate = around(statement.iterate.bind(statement));
  return Object.assign(statement, {
    all: around(statement.all.bind(statement)),
    get: around(statement.get.bind(statement)),
    run: around(statement.run.bind(statement)),
    iterate: (...values: Parameters<typeof iterate>) => {
      const rows = iterate(...values);
      return Object.assign(rows, { next: around(rows.next.bind(rows)) });
    },
  });
}
