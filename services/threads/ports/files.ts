import type { FileStatus } from '@agent-workflow/protos/lists';
import type { ThreadKey } from './record.ts';

/** Names one file. The owner is part of the key: the file of another owner is absent. */
export interface FileKey {
  readonly owner: string;
  /** Made by the service that takes uploads; no two owners have the same. */
  readonly fileId: string;
}

/** The record of one file. Its bytes are elsewhere. Times are in milliseconds since 1970, sizes in bytes. */
export interface FileRow extends FileKey {
  readonly filename: string;
  readonly contentType?: string;
  readonly sniffedType?: string;
  /** While the file is uploading, what is reserved for it. */
  readonly size: number;
  /** Hexadecimal; absent while the file is uploading. */
  readonly sha256?: string;
  readonly createdAt: number;
  readonly status: FileStatus;
  /** When a sweep looks at the file; absent while a thread is known to name it. No file gets a time again that it had before. */
  readonly dueAt?: number;
  /** How often a thread was noted. A decision that was made from the notes is void when it has changed. */
  readonly noted: number;
}

/** All files of one owner together, whatever their status. */
export interface FileTotals {
  readonly files: number;
  readonly bytes: number;
}

/** What a decision about a file is made from: one moment of all files of its owner. */
export interface FileSnapshot {
  readonly file: FileRow | undefined;
  /** Zeros unless they were asked for. */
  readonly totals: FileTotals;
}

export interface FileDecision<T> {
  /** The record as it is from now on, or its removal. Absent when nothing is written. */
  readonly change?: { readonly put: FileRow } | { readonly remove: true };
  readonly reply: T;
}

/** A thread that names a file. */
export interface FileNote {
  readonly threadId: string;
  /** When it was noted last. */
  readonly at: number;
}

/** A page of due files begins after this one, in order of due time and id. */
export interface DueMark {
  readonly dueAt: number;
  readonly fileId: string;
}

/**
 * The port of the records of files, and of the notes which threads name them. Notes are rows of their own: a note may stand without
 * its file or its thread, and a reader of notes checks the thread.
 */
export interface FileRecords {
  readonly getFile: (key: FileKey) => Promise<FileRow | undefined>;
  /**
   * Reads the record, calls `decide`, and writes what it returns: atomically, against every other change of the same file, and with
   * `totals` against every change of any file of the owner. A change that adds or removes a file or changes its size needs `totals`.
   * `decide` is pure and is called again when another write came first, and also when it is not known whether its own write took
   * place: applied to its own result it gives the same reply. What it throws is thrown here, with nothing written.
   */
  readonly changeFile: <T>(
    key: FileKey,
    reads: { readonly totals: boolean },
    decide: (snapshot: FileSnapshot) => FileDecision<T>,
  ) => Promise<T>;
  /** At most `limit` files of an owner, whatever their status, by id from the highest on, following `after`. */
  readonly listOwnFiles: (
    owner: string,
    page: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<readonly FileRow[]>;
  /** At most `limit` files of every owner that are due at `until` or before, by due time and id, following `after`. */
  readonly listDueFiles: (page: {
    readonly until: number;
    readonly after?: DueMark | undefined;
    readonly limit: number;
  }) => Promise<readonly FileRow[]>;
  /** Notes that a thread names a file. A note that is there already gets the new time. */
  readonly putFileNote: (key: FileKey, note: FileNote) => Promise<void>;
  readonly dropFileNote: (key: FileKey, threadId: string) => Promise<void>;
  /** The notes of a file by thread id, following `after`. */
  readonly listFileNotes: (
    key: FileKey,
    page: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<readonly FileNote[]>;
  /** The ids of the files that a thread is noted to name, in their order, following `after`. */
  readonly listFilesOf: (
    key: ThreadKey,
    page: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<readonly string[]>;
}
