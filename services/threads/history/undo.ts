import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import type { OpenCall } from '@agent-workflow/protos/threads';
import type { Change, Snapshot } from '../ports/changes.ts';
import type { AddressedQuestion, CheckpointInfo, Head, PlacedEntry, ThreadKey } from '../ports/record.ts';
import { sizeAfter } from '../record/size.ts';
import { checkpointsOf } from '../record/versions.ts';

/** The values of the head before a change that a rollback or a fork restores. */
export type Mark = Pick<
  Head,
  | 'nextPosition'
  | 'openCalls'
  | 'next'
  | 'openInterrupts'
  | 'addressed'
  | 'answeredByOthers'
  | 'interruptedRun'
  | 'progress'
  | 'size'
>;

/** What one change overwrote. Positions from `mark.nextPosition` on were free before it. */
export interface Undo {
  readonly mark: Mark;
  /** Fields as they were; `undefined` where a field was not set. */
  readonly fields: readonly (readonly [name: string, json: Uint8Array | undefined])[];
  /** Entries of the log that were replaced or deleted, as they were. */
  readonly entries: readonly PlacedEntry[];
  /** Positions that left the context and stayed in the log, in the order given; of those that the change put there, too. */
  readonly removed: readonly number[];
  /** Positions of the messages that were put, in the order given, when that is not the order of the log. */
  readonly order?: readonly number[];
  /** Positions without a message, where the change put one that had been there earlier. */
  readonly absent?: readonly number[];
}

/** The change with the size that it leaves, and a checkpoint on it, whose undo is what the change overwrites of the snapshot. */
export function withCheckpoint(
  change: Change,
  before: Head,
  snapshot: Snapshot,
  info: Omit<CheckpointInfo, 'next'>,
): Change {
  const undo = encodeUndo(overwritten(change, before, snapshot));
  const head = { ...change.head, size: sizeAfter(before, change, snapshot) };
  return { ...change, head, checkpoint: { ...info, next: change.head.next, undo } };
}

/** Why a change may not be made that writes or overwrites so much; `undefined` when it may. */
export function refusalOfChange(change: Change, thread: ThreadKey): string | undefined {
  const written = bytesWritten(change, thread);
  const excess = excessOf(change, written);
  if (excess !== undefined) return `what is written has ${excess}: change fewer messages at once`;
  const bytes = undoBytes(change);
  const bound = Math.min(sizes.undo, sizes.change - written);
  if (bytes <= bound) return undefined;
  return `what is replaced has ${bytesOver(bytes, bound)}: replace fewer messages at once`;
}

/** How a rollback exceeds the bounds of a change. What it puts back is written twice, to its rows and to the undo record. */
export const excessOfRollback = (change: Change, thread: ThreadKey): string | undefined =>
  excessOf(change, bytesWritten(change, thread) + undoBytes(change));

function excessOf(change: Change, bytes: number): string | undefined {
  const rows = rowsWritten(change);
  if (rows > sizes.changeRows) return `${String(rows)} rows, more than ${String(sizes.changeRows)}`;
  return bytes > sizes.change ? bytesOver(bytes, sizes.change) : undefined;
}

/** Whether a change, which is not too large by itself, may write so many bytes more. Two that are fused may each be half as large. */
export const hasRoomFor = (change: Change, thread: ThreadKey, bytes: number): boolean =>
  bytesWritten(change, thread) + undoBytes(change) + bytes <= sizes.change / 2;

const undoBytes = (change: Change): number =>
  checkpointsOf(change).reduce((sum, [, { undo }]) => sum + undo.byteLength, 0);

/** About what a row takes beside its bytes and the key of its thread. */
const rowBytes = 100;

/** Head, checkpoint and the request that is applied, and ranges that are dropped. */
const otherRows = 8;

/** The rows of a change where a store has the most: two of each message and of each run. Each has the key of its thread. */
const rowsWritten = ({ messages = none, fields = {}, deleted = none, runs = none, answered }: Change): number =>
  2 * (messages.length + runs.length + (answered ? 1 : 0)) + Object.keys(fields).length + deleted.length + otherRows;

/** What a change writes beside its undo. */
function bytesWritten(change: Change, { owner, threadId }: ThreadKey): number {
  const { messages = none, fields = {}, runs = none, answered, head, checkpoint } = change;
  const keyBytes = Buffer.byteLength(owner) + Buffer.byteLength(threadId);
  let bytes = rowsWritten(change) * (keyBytes + rowBytes);
  for (const { json } of messages) bytes += json.byteLength;
  for (const name in fields) bytes += fields[name]?.byteLength ?? 0;
  for (const { options, input, end } of runs)
    bytes += options.byteLength + (input?.byteLength ?? 0) + Buffer.byteLength(end?.interruptsJson ?? '');
  bytes += Buffer.byteLength(answered?.end?.interruptsJson ?? '');
  return bytes + (head.progress?.byteLength ?? 0) + (checkpoint?.metadata?.byteLength ?? 0);
}

/** @throws Invalid naming the field that brings what is too much. */
export function refuseLargeChange(change: Change, thread: ThreadKey, at: ErrorDetail['field']): void {
  const refusal = refusalOfChange(change, thread);
  if (refusal !== undefined) throw invalid(at, refusal, 'too_large');
}

const none: readonly never[] = [];

function overwritten(change: Change, before: Head, snapshot: Snapshot): Undo {
  const { messages = none, deleted = none, removedFromContext = none } = change;
  const entries = messages.some(({ position }) => position < before.nextPosition)
    ? messages.flatMap(({ messageId }) => snapshot.entries.get(messageId) ?? [])
    : [];
  const order = entries.length === 0 ? {} : { order: messages.map(({ position }) => position) };
  if (deleted.length > 0) {
    const gone = new Set(deleted);
    entries.push(...[...snapshot.entries.values()].filter(({ position }) => gone.has(position)));
  }
  return {
    mark: markOf(before),
    fields: fieldsBefore(change, snapshot.fields),
    entries,
    removed: change.clearState ? snapshot.context : removedFromContext,
    ...order,
  };
}

function fieldsBefore({ fields = {}, clearState }: Change, before: Snapshot['fields']): Undo['fields'] {
  if (clearState) return Object.entries(before);
  return Object.keys(fields).map((name) => [name, Object.hasOwn(before, name) ? before[name] : undefined]);
}

export const markOf = (head: Mark): Mark => ({
  nextPosition: head.nextPosition,
  openCalls: head.openCalls,
  next: head.next,
  openInterrupts: head.openInterrupts,
  ...(head.addressed === undefined ? {} : { addressed: head.addressed }),
  ...(head.answeredByOthers && { answeredByOthers: true }),
  ...(head.interruptedRun === undefined ? {} : { interruptedRun: head.interruptedRun }),
  ...(head.progress === undefined ? {} : { progress: head.progress }),
  size: head.size,
});

/**
 * An undo record as it is stored: one line of JSON that names the values and their lengths, then the values as they were, byte
 * for byte. They may be megabytes, which a commit has no time to parse. Empty parts are left out.
 */
interface Header {
  readonly at: number;
  readonly calls?: readonly OpenCall[];
  readonly next?: readonly string[];
  readonly asked?: readonly string[];
  readonly interrupted?: string;
  readonly addressed?: readonly AddressedQuestion[];
  readonly byOthers?: true;
  /** Bytes of all fields, and of the context. */
  readonly size: readonly [fields: number, context: number];
  /** Bytes of the progress. */
  readonly progress?: number;
  /** Name and bytes of each field; without bytes, it was not set. */
  readonly fields?: readonly (readonly [string, number?])[];
  /** Position, id, bytes, and whether it was part of the context. */
  readonly entries?: readonly (readonly [number, string, number, 0 | 1])[];
  readonly removed?: readonly number[];
  readonly order?: readonly number[];
  readonly absent?: readonly number[];
}

const lineEnd = 10;

export function encodeUndo({ mark, fields, entries, removed, order, absent = none }: Undo): Uint8Array {
  const values: Uint8Array[] = [];
  const note = (json: Uint8Array): number => {
    values.push(json);
    return json.byteLength;
  };
  // In the order in which they are read again.
  const progress = mark.progress === undefined ? undefined : note(mark.progress);
  const header: Header = {
    at: mark.nextPosition,
    ...(mark.openCalls.length === 0 ? {} : { calls: mark.openCalls }),
    ...(mark.next.length === 0 ? {} : { next: mark.next }),
    ...(mark.openInterrupts.length === 0 ? {} : { asked: mark.openInterrupts }),
    ...(mark.interruptedRun === undefined ? {} : { interrupted: mark.interruptedRun }),
    ...(mark.addressed === undefined ? {} : { addressed: mark.addressed }),
    ...(mark.answeredByOthers && { byOthers: true }),
    size: [mark.size.fields, mark.size.context],
    ...(progress === undefined ? {} : { progress }),
    ...(fields.length === 0 ? {} : { fields: fields.map(([name, json]) => (json ? [name, note(json)] : [name])) }),
    ...(entries.length === 0
      ? {}
      : {
          entries: entries.map(({ position, messageId, json, inContext }) => [
            position,
            messageId,
            note(json),
            inContext ? 1 : 0,
          ]),
        }),
    ...(removed.length === 0 ? {} : { removed }),
    ...(order === undefined ? {} : { order }),
    ...(absent.length === 0 ? {} : { absent }),
  };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  return values.length === 0 ? line : Buffer.concat([line, ...values]);
}

/** An undo as {@link encodeUndo} wrote it; its values are views of the bytes given. */
export function decodeUndo(bytes: Uint8Array): Undo {
  const lineBytes = bytes.indexOf(lineEnd) + 1;
  const header = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, lineBytes).toString()) as Header;
  let from = lineBytes;
  const take = (length: number): Uint8Array => bytes.subarray(from, (from += length));
  const progress = header.progress === undefined ? {} : { progress: take(header.progress) };
  return {
    mark: {
      nextPosition: header.at,
      openCalls: header.calls ?? none,
      next: header.next ?? none,
      openInterrupts: header.asked ?? none,
      ...(header.interrupted === undefined ? {} : { interruptedRun: header.interrupted }),
      ...(header.addressed === undefined ? {} : { addressed: header.addressed }),
      ...(header.byOthers && { answeredByOthers: true }),
      size: { fields: header.size[0], context: header.size[1] },
      ...progress,
    },
    fields: (header.fields ?? none).map(([name, length]) => [name, length === undefined ? undefined : take(length)]),
    entries: (header.entries ?? none).map(([position, messageId, length, inContext]) => ({
      position,
      messageId,
      json: take(length),
      inContext: inContext === 1,
    })),
    removed: header.removed ?? none,
    ...(header.order === undefined ? {} : { order: header.order }),
    ...(header.absent === undefined ? {} : { absent: header.absent }),
  };
}
