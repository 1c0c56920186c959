import type { StatementSync } from 'node:sqlite';
import type { OpenStatus } from '@agent-workflow/protos/lists';
import type { OpenCall } from '@agent-workflow/protos/threads';
import type { ThreadRow } from '../../ports/lists.ts';
import type { Head, PlacedEntry } from '../../ports/record.ts';
import { fromList, toList, toLogEntry, type Row } from '../../record/sql-rows.ts';

/** An entry of a thread whose context has this number. */
export const toPlacedEntry = (row: Row, contextNumber: number): PlacedEntry => ({
  ...toLogEntry(row),
  inContext: row['in_context'] === contextNumber,
});

export const listed = 'thread_id, name, metadata, created_at, updated_at, newest_run, version';

/** The columns of `listed`, in their order. */
export type ListedRow = [string, string | null, Uint8Array | null, number, number, string | null, number];

/** Rows as arrays: a list is read in two thirds of the time that named columns take. */
export function arraysOf(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

export function toThreadRow([
  threadId,
  name,
  metadata,
  createdAt,
  updatedAt,
  newestRun,
  version,
]: ListedRow): ThreadRow {
  const row: { -readonly [K in keyof ThreadRow]: ThreadRow[K] } = { threadId, createdAt, updatedAt, version };
  if (name !== null) row.name = name;
  if (metadata !== null) row.metadata = metadata;
  if (newestRun !== null) row.newestRun = newestRun;
  return row;
}

/** The columns that every change of a thread may write, in their order. */
export const headColumns = [
  'version',
  'epoch',
  'step',
  'active_run',
  'active_status',
  'worker',
  'found_version',
  'newest_run',
  'queue',
  'next_position',
  'open_calls',
  'next',
  'interrupted_run',
  'open_interrupts',
  'claims',
  'progress',
  'field_bytes',
  'context_bytes',
] as const;

/** Values for `headColumns`. */
export const fromHead = (head: Head): (string | number | Uint8Array | null)[] => [
  head.version,
  head.epoch,
  head.step,
  head.activeRun ?? null,
  head.activeStatus ?? null,
  head.worker ?? null,
  head.foundVersion ?? null,
  head.newestRun ?? null,
  toList(head.queue),
  head.nextPosition,
  toList(head.openCalls),
  toList(head.next),
  head.interruptedRun ?? null,
  toList(head.openInterrupts),
  head.claims,
  head.progress ?? null,
  head.size?.fields ?? null,
  head.size?.context ?? null,
];

/** A head as it is selected: what stands once, then `headColumns`. */
export const selectedHead = `ref, context_number, checkpoints_since, name, metadata, created_at, updated_at, deleting, ${headColumns.join(', ')}`;

export type HeadColumns = [
  ref: number,
  contextNumber: number,
  checkpointsSince: number | null,
  name: string | null,
  metadata: Uint8Array | null,
  createdAt: number,
  updatedAt: number,
  deleting: number,
  version: number,
  epoch: number,
  step: number,
  activeRun: string | null,
  activeStatus: OpenStatus | null,
  worker: string | null,
  foundVersion: number | null,
  newestRun: string | null,
  queue: string,
  nextPosition: number,
  openCalls: string,
  next: string,
  interruptedRun: string | null,
  openInterrupts: string,
  claims: number,
  progress: Uint8Array | null,
  fieldBytes: number | null,
  contextBytes: number | null,
];

/** Written out, for every change begins with it: an object built key by key takes a third of the time of one spread together. */
export function toHead(row: HeadColumns): Head {
  const [, , , name, metadata, createdAt, updatedAt, deleting, version, epoch, step, ...held] = row;
  const [activeRun, activeStatus, worker, foundVersion, newestRun, queue, nextPosition, ...waits] = held;
  const [openCalls, next, interruptedRun, openInterrupts, claims, progress, fieldBytes, contextBytes] = waits;
  const head: { -readonly [K in keyof Head]: Head[K] } = {
    createdAt,
    updatedAt,
    version,
    epoch,
    step,
    queue: fromList(queue) as readonly string[],
    nextPosition,
    openCalls: fromList(openCalls) as readonly OpenCall[],
    next: fromList(next) as readonly string[],
    openInterrupts: fromList(openInterrupts) as readonly string[],
    claims,
    deleting: deleting === 1,
  };
  if (name !== null) head.name = name;
  if (metadata !== null) head.metadata = metadata;
  if (activeRun !== null) head.activeRun = activeRun;
  if (activeStatus !== null) head.activeStatus = activeStatus;
  if (worker !== null) head.worker = worker;
  if (foundVersion !== null) head.foundVersion = foundVersion;
  if (newestRun !== null) head.newestRun = newestRun;
  if (interruptedRun !== null) head.interruptedRun = interruptedRun;
  if (progress !== null) head.progress = progress;
  if (fieldBytes !== null && contextBytes !== null) head.size = { fields: fieldBytes, context: contextBytes };
  return head;
}
