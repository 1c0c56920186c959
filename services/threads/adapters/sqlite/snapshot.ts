import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { Reads, Snapshot, UndoSink } from '../../ports/changes.ts';
import type { Head, PlacedEntry, RunRecord, ThreadKey, ToolCallKey } from '../../ports/record.ts';
import { optional } from '../../record/sql-rows.ts';
import { iterateUndos } from './checkpoints.ts';
import { contextRows, type ContextRef } from './gaps.ts';
import {
  arraysOf,
  columnsOfRun,
  type ColumnsOfRun,
  selectedHead,
  selectedRun,
  toHead,
  toPlacedEntry,
  toRun,
  type HeadColumns,
} from './rows.ts';

export interface HeadRow extends ContextRef {
  readonly head: Head;
  /** When the oldest checkpoint that is kept was made; `null` when none is. Pruning by count leaves it behind. */
  readonly checkpointsSince: number | null;
  /** Whether its context has gaps. */
  readonly hasGaps: boolean;
  readonly hasToolCalls: boolean;
}

const headOf = `SELECT ${selectedHead} FROM threads WHERE owner = ? AND thread_id = ?`;

export function selectHead(db: Sqlite, { owner, threadId }: ThreadKey): HeadRow | undefined {
  // Rows are arrays here, which the types of node:sqlite do not know.
  const row = arraysOf(db.prepare(headOf)).get(owner, threadId) as HeadColumns | undefined;
  return row && toHeadRow(row);
}

/** A thread as a change finds it, with one of its runs. */
interface FoundThread extends HeadRow {
  readonly run?: RunRecord | undefined;
}

const runBesideHead = `SELECT ${selectedRun}, ${selectedHead}
  FROM threads LEFT JOIN runs ON runs.run_id = ? AND runs.owner = threads.owner AND runs.ref = threads.ref
  WHERE threads.owner = ? AND thread_id = ?`;

/** The thread with the first of the runs that are to be read: most changes read one. */
export function findThread(db: Sqlite, key: ThreadKey, { runs: [runId] = [] }: Reads): FoundThread | undefined {
  if (runId === undefined) return selectHead(db, key);
  const { owner, threadId } = key;
  const row = arraysOf(db.prepare(runBesideHead)).get(toStoredId(runId), owner, threadId) as unknown[] | undefined;
  if (!row) return undefined;
  const run = row.splice(0, columnsOfRun.length);
  return {
    ...toHeadRow(row as HeadColumns),
    run: hasRun(run) ? toRun(threadId, run) : undefined,
  };
}

/** A thread without the run has nulls for its columns. */
const hasRun = (columns: readonly unknown[]): columns is ColumnsOfRun => columns[0] !== null;

const toHeadRow = (row: HeadColumns): HeadRow => ({
  ref: row[0],
  contextNumber: row[1],
  checkpointsSince: row[2],
  hasGaps: row[3] === 1,
  hasToolCalls: row[4] === 1,
  head: toHead(row),
});

export const selectRef = (db: Sqlite, { owner, threadId }: ThreadKey): number | undefined =>
  db.prepare('SELECT ref FROM threads WHERE owner = ? AND thread_id = ?').get(owner, threadId)?.['ref'] as
    number | undefined;

export const selectContextRef = (db: Sqlite, { owner, threadId }: ThreadKey): ContextRef | undefined =>
  db
    .prepare('SELECT ref, context_number AS contextNumber FROM threads WHERE owner = ? AND thread_id = ?')
    .get(owner, threadId) as ContextRef | undefined;

export const selectFields = (db: Sqlite, ref: number): Record<string, Uint8Array> =>
  Object.fromEntries(
    db
      .prepare('SELECT name, json FROM fields WHERE ref = ?')
      .all(ref)
      .map((row) => [row['name'] as string, row['json'] as Uint8Array]),
  );

/** One moment of a thread: what a decision asked to see. */
export function toSnapshot(db: Sqlite, row: FoundThread | undefined, key: ThreadKey, reads: Reads): Snapshot {
  if (!row) return emptySnapshot;
  const { ref, head } = row;
  if (reads.undosOfActiveRun) readUndos(db, row, reads.undosOfActiveRun());
  return {
    head,
    runs: readRuns(db, row, key, reads),
    entries: readEntries(db, row, reads.messages),
    // A thread whose fields have no bytes has none.
    fields: head.size.fields === 0 ? emptySnapshot.fields : readFields(db, ref, reads.fields),
    context: reads.context ? readContext(db, row) : emptySnapshot.context,
    ...(reads.toolCall ? readToolCall(db, ref, reads.toolCall) : {}),
    ...(reads.request === undefined ? {} : readApplied(db, ref, reads.request)),
  };
}

export const emptySnapshot: Snapshot = {
  head: undefined,
  runs: new Map(),
  entries: new Map(),
  fields: {},
  context: [],
};

function readUndos(db: Sqlite, { ref, head }: HeadRow, sink: UndoSink): void {
  if (head.foundVersion === undefined) return;
  const range = { above: head.foundVersion, below: Number.MAX_SAFE_INTEGER, limit: -1 };
  for (const row of iterateUndos(db, ref, range)) sink.add(row);
}

const runOf = `SELECT ${selectedRun} FROM runs WHERE owner = ? AND run_id = ? AND ref = ?`;

function readRuns(
  db: Sqlite,
  { ref, head, run: first }: FoundThread,
  { owner, threadId }: ThreadKey,
  { runs: [, ...others] = [], activeRun, interruptedRun }: Reads,
): Snapshot['runs'] {
  const runs = new Map<string, RunRecord>();
  if (first) runs.set(first.runId, first);
  if (activeRun && head.activeRun !== undefined) others.push(head.activeRun);
  if (interruptedRun && head.interruptedRun !== undefined) others.push(head.interruptedRun);
  for (const runId of others) {
    const row = arraysOf(db.prepare(runOf)).get(owner, toStoredId(runId), ref) as ColumnsOfRun | undefined;
    if (row) runs.set(runId, toRun(threadId, row));
  }
  return runs;
}

function readEntries(
  db: Sqlite,
  { ref, contextNumber }: ContextRef,
  messageIds: readonly string[] = [],
): Snapshot['entries'] {
  const entries = new Map<string, PlacedEntry>();
  for (const messageId of messageIds) {
    const row = db
      .prepare('SELECT position, message_id, json, in_context FROM messages WHERE ref = ? AND message_id = ?')
      .get(ref, messageId);
    if (row) entries.set(messageId, toPlacedEntry(row, contextNumber));
  }
  return entries;
}

export function readFields(db: Sqlite, ref: number, names: Reads['fields'] = []): Snapshot['fields'] {
  if (names === 'all') return selectFields(db, ref);
  if (names.length === 0) return emptySnapshot.fields;
  const one = db.prepare('SELECT json FROM fields WHERE ref = ? AND name = ?');
  return Object.fromEntries(
    names.flatMap((name) => {
      const row = one.get(ref, name);
      return row ? [[name, row['json'] as Uint8Array] as const] : [];
    }),
  );
}

const readContext = (db: Sqlite, context: ContextRef): number[] =>
  Array.from(contextRows(db, context, { columns: 'position' }), (row) => row['position'] as number).reverse();

function readToolCall(db: Sqlite, ref: number, { runId, callKey }: ToolCallKey): Pick<Snapshot, 'toolCall'> {
  const row = db
    .prepare('SELECT result FROM tool_calls WHERE ref = ? AND run_id = ? AND call_key = ?')
    .get(ref, runId, callKey);
  return row ? { toolCall: { runId, callKey, ...optional('result', row['result'] as Uint8Array | null) } } : {};
}

function readApplied(db: Sqlite, ref: number, id: string): Pick<Snapshot, 'applied'> {
  // The index has the end of the id.
  const row = db
    .prepare(
      `SELECT reply FROM applied WHERE ref = ?1 AND substr(id, -12) = substr(?2, -12) AND id = ?2 ORDER BY due DESC LIMIT 1`,
    )
    .get(ref, id);
  return row ? { applied: row['reply'] as Uint8Array } : {};
}
