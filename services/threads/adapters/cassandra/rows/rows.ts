import { types } from 'cassandra-driver';
import type { UndoRow } from '../../../ports/changes.ts';
import type { CheckpointRow, TraceRow } from '../../../ports/history.ts';
import type { RunRow, ThreadRow } from '../../../ports/lists.ts';
import type { Checkpoint, Head, LogEntry, RunRecord, ThreadKey } from '../../../ports/record.ts';
import type { Row } from '../client/client.ts';
import { decode, encode, type Ranges } from './ranges.ts';

/** What only the adapter knows of a thread: where its rows are. It is part of the head's row. */
export interface Layout {
  /** The id of this thread's segments; a thread made again under the same id has another. */
  readonly life: string;
  /** Fields of another generation were cleared. */
  readonly generation: number;
  /** Positions of the context. */
  readonly context: Ranges;
  /** Positions below it are in segments, unless the thread's partition has a row for them, which then counts. */
  readonly rolledTo: number;
  /** Positions of a segment. */
  readonly width: number;
  /** Whether the thread's partition may have rows for positions below `rolledTo`. */
  readonly hasOverlays: boolean;
  /** Whether segments may hold rows of a log that was cut off: then positions without a message are marked as empty when they roll over. */
  readonly wasCut: boolean;
  /** Counts the changes of entries that were in the log before. */
  readonly edits: number;
  /** Above every position that was ever taken. */
  readonly top: number;
  /** About how many rows of the log the thread's partition has, and how many bytes they have. */
  readonly rows: number;
  readonly bytes: number;
  /** How many bytes the largest message takes that was ever in the log. */
  readonly largest: number;
  /** Slots of the list by recency that may hold a row of this thread, the present one first. */
  readonly slots: readonly number[];
  /** Orders the writes of that list: microseconds since 1970, or more. */
  readonly listedAt: number;
  /** The bucket of the idle threads' journal with the newest note of this thread. */
  readonly noted?: number;
}

/** A head as it was read: changes are written on condition that it has not changed since. */
export interface Seen {
  /** Absent with the thread. */
  readonly stamp: string | undefined;
  /** Stamps before it, the newest first, as far as they are kept. */
  readonly past: readonly string[];
  readonly head: Head | undefined;
  readonly layout: Layout | undefined;
}

export const absent: Seen = { stamp: undefined, past: [], head: undefined, layout: undefined };

/** Stamps that are kept beside the present one. */
export const stampsKept = 31;

export const toSeen = (row: Row | undefined): Seen =>
  row
    ? {
        stamp: String(row['stamp']),
        past: toStamps(row['past'] as Buffer),
        head: toHead(row),
        layout: toLayout(row['layout'] as string),
      }
    : absent;

const stampBytes = 16;

const toStamps = (past: Buffer): string[] =>
  Array.from({ length: past.length / stampBytes }, (_, index) =>
    String(new types.Uuid(past.subarray(index * stampBytes, (index + 1) * stampBytes))),
  );

export const fromStamps = (stamps: readonly string[]): Buffer =>
  Buffer.concat(stamps.slice(0, stampsKept).map((stamp) => types.Uuid.fromString(stamp).getBuffer()));

/** A blob that stands for nothing: no JSON is empty, and what is never null leaves no tombstone. */
export const nothing = Buffer.alloc(0);

export const toBlob = (bytes: Uint8Array | undefined): Buffer =>
  bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : nothing;

/** The bytes, in no class of the platform's own. */
export const fromBlob = (blob: unknown): Uint8Array => {
  const { buffer, byteOffset, byteLength } = blob as Buffer;
  return new Uint8Array(buffer, byteOffset, byteLength);
};

/** A blob as an optional key: ours are never null, and empty when there is nothing. */
const optional = <K extends string>(key: K, blob: unknown): Partial<Record<K, Uint8Array>> =>
  isNothing(blob) ? {} : ({ [key]: fromBlob(blob) } as Partial<Record<K, Uint8Array>>);

const isNothing = (blob: unknown): boolean => blob === null || blob === undefined || (blob as Buffer).length === 0;

export const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === b || Buffer.compare(toBlob(a), toBlob(b)) === 0;

export const toHead = (row: Row): Head => ({
  ...(JSON.parse(row['head'] as string) as Omit<Head, 'metadata' | 'progress'>),
  ...optional('metadata', row['metadata']),
  ...optional('progress', row['progress']),
});

export const fromHead = ({ metadata: _, progress: _progress, ...head }: Head): string => JSON.stringify(head);

export const toLayout = (json: string): Layout => {
  const { context, ...layout } = JSON.parse(json) as Omit<Layout, 'context'> & { context: readonly number[] };
  return { ...layout, context: decode(context) };
};

export const fromLayout = ({ context, ...layout }: Layout): string =>
  JSON.stringify({ ...layout, context: encode(context) });

export const toRun = (row: Row): RunRecord => ({
  ...readRun(row),
  options: fromBlob(row['options']),
  ...optional('input', row['input']),
});

/** A run of which only its `run` was read. */
export const toRunRow = (row: Row): RunRow => readRun(row);

const readRun = (row: Row): Omit<RunRecord, 'options' | 'input'> =>
  JSON.parse(row['run'] as string) as Omit<RunRecord, 'options' | 'input'>;

export const fromRun = ({ options: _, input: _input, ...run }: RunRecord): string => JSON.stringify(run);

export const fromCheckpoint = ({ undo: _, metadata: _metadata, trace: _trace, ...info }: Checkpoint): string =>
  JSON.stringify(info);

export const toCheckpoint = (row: Row): CheckpointRow => ({
  version: Number(row['n']),
  ...(JSON.parse(row['checkpoint'] as string) as Omit<CheckpointRow, 'version' | 'metadata'>),
  ...optional('metadata', row['metadata']),
});

export const toUndo = (row: Row): UndoRow => ({ version: Number(row['n']), undo: fromBlob(row['undo']) });

export const toTrace = (row: Row): TraceRow => ({
  version: Number(row['n']),
  spansJson: fromBlob(row['trace']),
  ...optional('contentJson', row['trace_content']),
});

/** Whether the row of a checkpoint has a trace. */
export const hasTrace = (row: Row): boolean => !isNothing(row['trace']);

/** Whether a row of the log or of a segment stands for a deleted message. */
export const isGone = (row: Row): boolean => row['message_id'] === '';

export const toEntry = (row: Row): LogEntry => ({
  position: positionOf(row),
  messageId: row['message_id'] as string,
  json: fromBlob(row['json']),
  ...(row['version'] ? { version: Number(row['version']) } : {}),
});

export const positionOf = (row: Row): number => Number(row['n'] ?? row['position']);

export const toResult = (row: Row): { readonly result?: Uint8Array } => optional('result', row['result']);

export const toReply = (row: Row): { readonly reply?: Uint8Array } => optional('reply', row['reply']);

/** A thread in the list by recency, whose metadata stands beside it. */
export interface Listed {
  readonly thread: Omit<ThreadRow, 'metadata'>;
  readonly slot: bigint;
  /** How many bytes the metadata takes. */
  readonly metadataBytes: number;
}

/** A row of the list by recency; `undefined` where the thread no longer is. */
export function toListed(row: Row): Listed | undefined {
  if (row['row'] === '') return undefined;
  const { metadataBytes, ...thread } = JSON.parse(row['row'] as string) as Omit<ThreadRow, 'threadId' | 'metadata'> & {
    readonly metadataBytes: number;
  };
  return { thread: { threadId: row['thread_id'] as string, ...thread }, slot: row['slot'] as bigint, metadataBytes };
}

/** The metadata of a row of the list by recency; `undefined` where there is none. */
export const toListedMetadata = (row: Row): Uint8Array | undefined =>
  isNothing(row['metadata']) ? undefined : fromBlob(row['metadata']);

export function fromListed({ name, title, createdAt, updatedAt, newestRun, agent, version, metadata }: Head): string {
  const thread = { name, title, createdAt, updatedAt, newestRun, agent, version } satisfies Readonly<
    Record<keyof Listed['thread'] & keyof Head, unknown>
  >;
  return JSON.stringify({ ...thread, metadataBytes: metadata?.byteLength ?? 0 });
}

/** As bigint columns take it. */
export const long = (value: number): bigint => BigInt(value);

export const toKey = (row: Row): ThreadKey => ({
  owner: row['owner'] as string,
  threadId: row['thread_id'] as string,
});
