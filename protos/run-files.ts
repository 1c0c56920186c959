import { sizes } from '@agent-workflow/kit/sizes';

// How the code of an agent reaches the files of its run's owner. The gateway has the bytes: it is the same process, or it is asked over
// HTTP with a sealed grant.

/** The claim of a run: while it is the run's last, its worker may read and write the files of the run's owner. */
export interface RunClaim {
  readonly owner: string;
  readonly runId: string;
  readonly epoch: number;
}

export interface RunFileInfo {
  readonly fileId: string;
  readonly filename: string;
  /** What the first bytes show, else what was declared. */
  readonly contentType: string;
  /** In bytes. */
  readonly size: number;
  /** Of the bytes, as hexadecimal digits. */
  readonly sha256: string;
}

/** A file that a run writes. */
export interface NewRunFile {
  readonly filename: string;
  readonly contentType?: string;
  /** How many bytes there are, where that is known. */
  readonly size?: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * The files of owners for the workers of their runs. Each call is Stale when the claim is no longer the run's last, and Unavailable while
 * the gateway or its store is away.
 */
export interface RunFiles {
  /** @throws NotFound when the owner has no such stored file. */
  readonly info: (claim: RunClaim, fileId: string, signal: AbortSignal) => Promise<RunFileInfo>;
  /**
   * The bytes from the byte `from` on, the first unless given, at the pace of the reader, who may leave at any time. Errors come with the
   * first bytes, or later.
   * @throws StorageFailed when the bytes end before those of the record, or are cut off on their way.
   */
  readonly read: (claim: RunClaim, fileId: string, signal: AbortSignal, from?: number) => AsyncIterable<Uint8Array>;
  /**
   * Stores a file as it comes. A second call stores a second file.
   * @throws TooLarge above the bounds of a file and of its owner; Invalid when the bytes belie the type.
   */
  readonly write: (claim: RunClaim, file: NewRunFile, signal: AbortSignal) => Promise<RunFileInfo>;
}

/** What a worker may do with one request to the gateway. */
export type RunFileGrant = RunClaim & {
  /** Milliseconds since 1970. */
  readonly until: number;
} & (
    | { readonly use: 'info'; readonly fileId: string }
    /** `from` is the first byte that is wanted; absent for all of them. */
    | { readonly use: 'read'; readonly fileId: string; readonly from?: number }
    | { readonly use: 'write'; readonly filename: string; readonly contentType?: string; readonly size?: number }
  );

/** The path at the gateway that takes grants: GET for `info` and `read`, POST with the bytes as body for `write`. */
export const runFilesPath = '/run-files';

/** The header of a reply to `read` that says with which byte its body begins. Without it that is the first. */
export const runFileFromHeader = 'file-from';

/** What separates grants from other texts that are sealed with the same secret. */
export const runFilesPurpose = 'files of a run';

/** How long a grant is good, in milliseconds. */
export const runFileGrantMs = 10 * 60_000;

/** A grant as text, which its maker seals: nobody else may read or make one. */
export const fromRunFileGrant = (grant: RunFileGrant): string => JSON.stringify(grant);

/** The grant of a text that was sealed; `undefined` at the end of its time. `now` is in milliseconds since 1970. */
export function toRunFileGrant(text: string, now: number): RunFileGrant | undefined {
  const grant = JSON.parse(text) as RunFileGrant;
  return now < grant.until ? grant : undefined;
}

/** The most characters of a sealed grant: a header is no larger. */
export const maxRunFileGrant = sizes.headers / 2;
