import { types } from 'cassandra-driver';
import type { Change } from '../../../ports/changes.ts';
import type { Head, RunRecord, ThreadKey, ToolCallRecord } from '../../../ports/record.ts';
import type { ResourceWrite } from '../../../ports/resources.ts';
import { checkpointsOf, versionsPut } from '../../../record/versions.ts';
import type { Statement } from '../client/client.ts';
import {
  fromCheckpoint,
  fromHead,
  fromLayout,
  fromRun,
  fromStamps,
  isSame,
  long,
  nothing,
  toBlob,
  type Layout,
  type Seen,
} from '../rows/rows.ts';
import { kinds } from '../rows/schema.ts';
import { positionsIn, subtract, toRanges, union, type Ranges } from '../rows/ranges.ts';
import { hourOf, slotOf } from '../rows/times.ts';

/** How logs are cut into segments. */
export interface SegmentSizes {
  /** Positions of one segment. */
  readonly width: number;
  /** A log rolls over when the thread's partition has more rows of it than this, or more bytes. */
  readonly maxRows: number;
  readonly maxBytes: number;
  /** Positions that stay in the thread's partition. */
  readonly keptRows: number;
}

export interface PlanOptions {
  readonly sizes: SegmentSizes;
  /** Seconds; 0 is for ever. */
  readonly checkpointTtl: number;
  /** Microseconds since 1970, never the same twice. */
  readonly tick: () => number;
  readonly newStamp: () => string;
}

/** Everything that one change is to do. */
export interface Plan {
  readonly stamp: string;
  /** The conditional batch. */
  readonly batch: readonly Statement[];
  readonly head: Head;
  readonly layout: Layout;
  /** Runs that this change writes. */
  readonly runs: readonly RunRecord[];
  /** Those of them that it makes, as far as is known. */
  readonly newRuns: readonly RunRecord[];
  /** What is to happen to the thread's place in the list by recency. `refresh`: it is there, and only its times change. */
  readonly listing: 'put' | 'refresh' | 'drop' | 'none';
  /** Objects beside threads that are made before the batch. */
  readonly resources: readonly ResourceWrite[];
  readonly isMarked: boolean;
  readonly isNewHour: boolean;
}

interface Decided {
  readonly key: ThreadKey;
  readonly seen: Seen;
  /** The runs that were looked up and found. */
  readonly knownRuns: ReadonlyMap<string, RunRecord>;
  readonly change: Change;
}

/** What a decided change writes. A row is written once at most: within one batch, which of two writes wins is not defined. */
export function plan({ key, seen, knownRuns, change }: Decided, options: PlanOptions): Plan {
  const { head } = change;
  const before = seen.layout ?? newLayout(options);
  const listing = listingOf(seen.head, head);
  const layout = listing === 'none' ? place(before, change) : list(place(before, change), head, options.tick());
  const hour = hourOf(head.updatedAt);
  const noted = { ...layout, noted: hour };
  const stamp = options.newStamp();
  const rows = [
    ...fieldRows(change, noted),
    ...logRows(change),
    ...(change.runs ?? []).flatMap((run) => runRows(run, knownRuns.get(run.runId))),
    ...(change.answered ? runRows(change.answered, change.answered) : []),
    ...checkpointRows(change, options.checkpointTtl),
    ...otherRows(change),
  ];
  return {
    stamp,
    batch: [headRow(key, { seen, head, layout: noted, stamp }), ...rows.map((row) => row(key))],
    head,
    layout: noted,
    runs: change.runs ?? [],
    newRuns: (change.runs ?? []).filter(({ runId }) => !knownRuns.has(runId)),
    listing,
    resources: change.resources ?? [],
    isMarked: head.deleting && !seen.head?.deleting,
    isNewHour: before.noted !== hour,
  };
}

/** A thread's key comes first in every statement on its rows. */
type RowWrite = (key: ThreadKey) => Statement;

const row =
  (cql: string, ...params: readonly unknown[]): RowWrite =>
  ({ owner, threadId }) => ({ cql, params: [owner, threadId, ...params] });

const newLayout = ({ sizes, newStamp }: PlanOptions): Layout => ({
  life: newStamp(),
  generation: 0,
  context: [],
  rolledTo: 0,
  width: sizes.width,
  hasOverlays: false,
  wasCut: false,
  edits: 0,
  top: 0,
  rows: 0,
  bytes: 0,
  largest: 0,
  slots: [],
  listedAt: 0,
});

/** The layout after the change. */
function place(layout: Layout, change: Change): Layout {
  const { messages = [], deleted = [], deletedFrom = Infinity } = change;
  const positions = messages.map(({ position }) => position);
  const rolledTo = Math.min(layout.rolledTo, deletedFrom);
  const touched = [...positions, ...deleted];
  return {
    ...layout,
    generation: layout.generation + (change.clearState ? 1 : 0),
    context: contextAfter(layout.context, change),
    rolledTo,
    hasOverlays: layout.hasOverlays || touched.some((position) => position < rolledTo),
    wasCut: layout.wasCut || rolledTo < layout.rolledTo,
    edits: layout.edits + (deletedFrom < layout.top || touched.some((position) => position < layout.top) ? 1 : 0),
    top: Math.max(layout.top, ...positions.map((position) => position + 1)),
    rows: layout.rows + touched.length,
    bytes: layout.bytes + messages.reduce((sum, { json }) => sum + json.byteLength, 0),
    largest: messages.reduce((largest, { json }) => Math.max(largest, json.byteLength), layout.largest),
  };
}

function contextAfter(context: Ranges, change: Change): Ranges {
  const { messages = [], addedToContext = [], removedFromContext = [], deleted = [], deletedFrom } = change;
  const kept = change.clearState ? [] : context;
  const cut = deletedFrom === undefined ? kept : subtract(kept, [[deletedFrom, Number.MAX_SAFE_INTEGER]]);
  const entering = toRanges([...messages.map(({ position }) => position), ...addedToContext]);
  return subtract(union(cut, entering), toRanges([...removedFromContext, ...deleted]));
}

function list(layout: Layout, head: Head, tick: number): Layout {
  const slot = slotOf(head.updatedAt);
  const slots = head.deleting ? layout.slots : [slot, ...layout.slots.filter((other) => other !== slot)];
  return { ...layout, slots: slots.slice(0, slotsKept), listedAt: Math.max(layout.listedAt + 1, tick) };
}

/** The present one, and two that a process which died between its writes may have left. */
const slotsKept = 3;

/** Commits within a run leave the list as it is. A claim writes it again, and so repairs what a process that died did not write. */
function listingOf(before: Head | undefined, head: Head): Plan['listing'] {
  if (head.deleting) return before && !before.deleting ? 'drop' : 'none';
  const isAsListed =
    before &&
    !before.deleting &&
    before.name === head.name &&
    before.title === head.title &&
    before.newestRun === head.newestRun &&
    isSame(before.metadata, head.metadata);
  if (!isAsListed) return 'put';
  if (before.updatedAt === head.updatedAt && before.epoch === head.epoch) return 'none';
  // A caller that writes a thread directly may list threads next; what a run does is published later, by other processes.
  return before.activeRun === undefined ? 'put' : 'refresh';
}

const ofHead = `owner = ? AND thread_id = ? AND kind = ${kinds.head} AND n = 0 AND id = ''`;

const putHead = `UPDATE thread SET at = ?, rolled_to = ?, stamp = ?, past = ?, head = ?, layout = ?, metadata = ?, progress = ?
  WHERE ${ofHead} IF stamp = ?`;

interface HeadWrite {
  readonly seen: Seen;
  readonly head: Head;
  readonly layout: Layout;
  readonly stamp: string;
}

/** Writes the head on condition that the head which was read has not changed. */
export function headRow({ owner, threadId }: ThreadKey, { seen, head, layout, stamp }: HeadWrite): Statement {
  const past = seen.stamp === undefined ? [] : [seen.stamp, ...seen.past];
  const blob = (name: 'metadata' | 'progress'): unknown =>
    seen.head && isSame(seen.head[name], head[name]) ? types.unset : toBlob(head[name]);
  return {
    cql: putHead,
    params: [
      ...[stamp, long(layout.rolledTo), stamp, fromStamps(past), fromHead(head), fromLayout(layout)],
      ...[blob('metadata'), blob('progress')],
      ...[owner, threadId, seen.stamp ?? null],
    ],
  };
}

const insert = (kind: keyof typeof kinds, n: string, id: string, columns: readonly string[], using = ''): string =>
  `INSERT INTO thread (${['owner', 'thread_id', 'kind', 'n', 'id', ...columns].join(', ')})
   VALUES (${['?', '?', kinds[kind], n, id, ...columns.map(() => '?')].join(', ')})${using}`;

const putField = insert('field', '0', '?', ['field', 'generation']);
const dropFields = `DELETE FROM thread WHERE owner = ? AND thread_id = ? AND kind = ${kinds.field}`;

/** The generation clears; the rows go with it when none of them is written anew. */
function fieldRows({ fields = {}, clearState }: Change, { generation }: Layout): RowWrite[] {
  const entries = Object.entries(fields);
  if (clearState && entries.length === 0) return [row(dropFields)];
  return entries.map(([name, json]) => row(putField, name, toBlob(json), generation));
}

const putLog = insert('log', '?', `''`, ['message_id', 'json', 'version']);
const putMessageId = insert('messageId', '0', '?', ['position']);
const dropLogFrom = `DELETE FROM thread WHERE owner = ? AND thread_id = ? AND kind = ${kinds.log} AND n >= ?`;

/** A deleted message leaves an empty row: no tombstone piles up, and a segment's row below it stays hidden. */
function logRows(change: Change): RowWrite[] {
  const { messages = [], deleted = [], deletedFrom } = change;
  const gone = new Set(deleted);
  const placed = new Map(messages.map((message) => [message.position, message]));
  const kept = [...placed.values()].filter(({ position }) => !gone.has(position));
  const versionAt = versionsPut(change);
  const versionOf = (position: number): unknown => {
    const version = versionAt(position);
    return version === undefined ? types.unset : long(version);
  };
  return [
    ...kept.map(({ position, messageId, json }) =>
      row(putLog, long(position), messageId, toBlob(json), versionOf(position)),
    ),
    ...kept.map(({ position, messageId }) => row(putMessageId, messageId, long(position))),
    ...[...gone].map((position) => row(putLog, long(position), '', nothing, types.unset)),
    ...(deletedFrom === undefined ? [] : [row(dropLogFrom, long(deletedFrom))]),
  ];
}

const putRun = insert('run', '0', '?', ['run', 'options', 'input']);
const putRunOrder = insert('runOrder', '?', '?', []);

function runRows(run: RunRecord, known: RunRecord | undefined): RowWrite[] {
  const options = known && isSame(known.options, run.options) ? types.unset : toBlob(run.options);
  const input = known && isSame(known.input, run.input) ? types.unset : toBlob(run.input);
  const record = row(putRun, run.runId, fromRun(run), options, input);
  return known ? [record] : [record, row(putRunOrder, long(run.createdAt), run.runId)];
}

const putCheckpoint = insert(
  'checkpoint',
  '?',
  `''`,
  ['checkpoint', 'metadata', 'undo', 'trace', 'trace_content'],
  ' USING TTL ?',
);
const ofCheckpoints = `owner = ? AND thread_id = ? AND kind = ${kinds.checkpoint}`;
const dropCheckpointsTo = `DELETE FROM thread WHERE ${ofCheckpoints} AND n <= ?`;
const dropCheckpointsBetween = `DELETE FROM thread WHERE ${ofCheckpoints} AND n > ? AND n < ?`;

/** Those of a run that holds the thread outlive the setting: it may be rolled back. */
const openRunTtl = 7 * 24 * 3600;

function checkpointRows(change: Change, ttl: number): RowWrite[] {
  const { head, dropCheckpointsTo: to, dropCheckpointsAfter: after } = change;
  const seconds = ttl === 0 || head.foundVersion === undefined ? ttl : Math.max(ttl, openRunTtl);
  const put = checkpointsOf(change)
    .filter(([version]) => to === undefined || to < version)
    .map(([version, checkpoint]) =>
      row(
        putCheckpoint,
        long(version),
        ...[fromCheckpoint(checkpoint), toBlob(checkpoint.metadata), toBlob(checkpoint.undo)],
        ...[toBlobOrUnset(checkpoint.trace?.spansJson), toBlobOrUnset(checkpoint.trace?.contentJson), seconds],
      ),
    );
  return [
    ...put,
    ...(to === undefined ? [] : [row(dropCheckpointsTo, long(to))]),
    ...(after === undefined ? [] : [row(dropCheckpointsBetween, long(after), long(head.version))]),
  ];
}

const toBlobOrUnset = (bytes: Uint8Array | undefined): Buffer | typeof types.unset =>
  bytes ? toBlob(bytes) : types.unset;

const putToolCall = insert('toolCall', '0', '?', ['result'], ' USING TTL ?');
const putApplied = insert('appliedRequest', '0', '?', ['result'], ' USING TTL ?');

/** In seconds. Longer than any run lasts; a tool call is read only while its run is open. */
const toolCallTtl = 30 * 24 * 3600;

const toTtl = ({ keepSeconds = toolCallTtl }: ToolCallRecord): number =>
  Math.min(Math.max(1, keepSeconds), toolCallTtl);

function otherRows({ toolCall, applies }: Change): RowWrite[] {
  return [
    ...(toolCall ? [row(putToolCall, toolCallId(toolCall), toBlob(toolCall.result), toTtl(toolCall))] : []),
    ...(applies ? [row(putApplied, applies.id, toBlob(applies.reply), Math.ceil(applies.keptMs / 1000))] : []),
  ];
}

export const toolCallId = ({ runId, callKey }: { readonly runId: string; readonly callKey: string }): string =>
  JSON.stringify([runId, callKey]);

export const contextPositions = (layout: Layout | undefined): number[] => (layout ? positionsIn(layout.context) : []);
