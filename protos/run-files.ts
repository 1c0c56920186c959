import { sizes } from '@agent-workflow/kit/sizes';

// How the code of an agent reaches the files of its run's owner. The gateway has the bytes: it is the same process, or it is asked over
// HTTP. A worker of the platform seals what it asks for. A worker of a pool shows the grant of its run, and what it asks for beside that.

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
 * the gateway or its store is unavailable.
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

/** What a worker asks for with one request to the gateway. */
export type RunFileUse =
  | { readonly use: 'info'; readonly fileId: string }
  /** `from` is the first byte that is wanted; absent for all of them. */
  | { readonly use: 'read'; readonly fileId: string; readonly from?: number }
  | { readonly use: 'write'; readonly filename: string; readonly contentType?: string; readonly size?: number };

/** What a worker may do with one request to the gateway. */
export type RunFileGrant = RunClaim & RunFileUse;

/** What a worker of the platform seals. `until` is in milliseconds since 1970. */
type SealedGrant = RunFileGrant & { readonly until: number };

/** What the `Authorization` of a request begins with, by what is shown: a sealed grant, or the grant of the run. */
export const runFileSchemes = { sealed: 'Bearer ', run: 'Run ' } as const;

/** The header that says what is asked for beside the grant of a run. */
export const runFileUseHeader = 'run-file-use';

/** The path at the gateway that takes grants: GET for `info` and `read`, POST with the bytes as body for `write`. */
export const runFilesPath = '/run-files';

/** What separates grants from other texts that are sealed with the same secret. */
export const runFilesPurpose = 'files of a run';

/** How long a grant is good, in milliseconds. */
export const runFileGrantMs = 10 * 60_000;

/** A grant as text, which its maker seals: nobody else may read or make one. */
export const fromRunFileGrant = (grant: SealedGrant): string => JSON.stringify(grant);

/** The grant of a text that was sealed; `undefined` at the end of its time. `now` is in milliseconds since 1970. */
export function toRunFileGrant(text: string, now: number): RunFileGrant | undefined {
  const grant = JSON.parse(text) as SealedGrant;
  return now < grant.until ? grant : undefined;
}

/** The most characters of a sealed grant, and of a use: a header is no larger. */
export const maxRunFileGrant = sizes.headers / 2;

/** A use as the value of a header. */
export const fromRunFileUse = (use: RunFileUse): string => Buffer.from(JSON.stringify(use)).toString('base64url');

/** The use of a header; `undefined` for what is none. Who sends it is not trusted. */
export function toRunFileUse(text: string): RunFileUse | undefined {
  const value = text.length > maxRunFileGrant ? undefined : parsed(Buffer.from(text, 'base64url').toString());
  const { use, fileId, from, filename, contentType, size } = (value ?? {}) as Readonly<Record<string, unknown>>;
  switch (use) {
    case 'info':
      return typeof fileId === 'string' ? { use, fileId } : undefined;
    case 'read':
      if (typeof fileId !== 'string' || !isCountOrAbsent(from)) return undefined;
      return { use, fileId, ...(from !== undefined && { from }) };
    case 'write':
      if (typeof filename !== 'string' || !isTextOrAbsent(contentType) || !isCountOrAbsent(size)) return undefined;
      return {
        use,
        filename,
        ...(contentType !== undefined && { contentType }),
        ...(size !== undefined && { size }),
      };
    default:
      return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isTextOrAbsent = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';

const isCountOrAbsent = (value: unknown): value is number | undefined =>
  value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0);
