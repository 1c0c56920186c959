import { createHash } from 'node:crypto';
import type { OpenStatus } from '@agent-workflow/protos/lists';
import type { OpenCall } from '@agent-workflow/protos/threads';
import type { UndoRow } from '../../ports/changes.ts';
import type { ThreadRow } from '../../ports/lists.ts';
import type { AddressedQuestion, Head, PlacedEntry, RunRecord } from '../../ports/record.ts';
import type { OpenRun } from '../../ports/sweeps.ts';
import { fromList, optional, toList, toLogEntry, toRunRow, type Row } from '../../record/sql-rows.ts';
import type { Param } from './values.ts';

/** Names a text of any length in a key. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** The row says by `is_in_context` whether the message is part of the context. */
export const toPlacedEntry = (row: Row): PlacedEntry => ({
  ...toLogEntry(row),
  inContext: row['is_in_context'] as boolean,
});

export const toUndoRow = (row: Row): UndoRow => ({
  version: row['version'] as number,
  undo: row['undo'] as Uint8Array,
});

export const toFields = (rows: readonly Row[]): Record<string, Uint8Array> =>
  Object.fromEntries(rows.map((row) => [row['name'] as string, row['json'] as Uint8Array]));

export const threadColumns = 'thread_id, name, metadata, created_at, updated_at, newest_run, version, agent, title';

export const toThreadRow = (row: Row): ThreadRow => ({
  threadId: row['thread_id'] as string,
  createdAt: row['created_at'] as number,
  updatedAt: row['updated_at'] as number,
  version: row['version'] as number,
  ...optional('name', row['name'] as string | null),
  ...optional('metadata', row['metadata'] as Uint8Array | null),
  ...optional('newestRun', row['newest_run'] as string | null),
  ...optional('agent', row['agent'] as string | null),
  ...optional('title', row['title'] as string | null),
});

/** The columns of a head that every change writes, with their values. */
export const headValues = (head: Head): Readonly<Record<string, Param>> => ({
  updated_at: head.updatedAt,
  version: head.version,
  epoch: head.epoch,
  step: head.step,
  active_run: head.activeRun ?? null,
  active_status: head.activeStatus ?? null,
  worker: head.worker ?? null,
  found_version: head.foundVersion ?? null,
  newest_run: head.newestRun ?? null,
  agent: head.agent ?? null,
  revision: head.revision ?? null,
  last_revision: head.lastRevision ?? null,
  failed_run: head.failedRun ?? null,
  ttl: head.ttl ?? null,
  title: head.title ?? null,
  run_count: head.runCount ?? null,
  queue: toList(head.queue),
  next_position: head.nextPosition,
  open_calls: toList(head.openCalls),
  next: toList(head.next),
  interrupted_run: head.interruptedRun ?? null,
  open_interrupts: toList(head.openInterrupts),
  addressed: head.addressed ? JSON.stringify(head.addressed) : null,
  answered_by_others: head.answeredByOthers ?? null,
  claims: head.claims,
  progress: head.progress ?? null,
  field_bytes: head.size.fields,
  context_bytes: head.size.context,
  deleting: head.deleting,
});

export function toHead(row: Row): Head {
  return {
    createdAt: row['created_at'] as number,
    updatedAt: row['updated_at'] as number,
    version: row['version'] as number,
    epoch: row['epoch'] as number,
    step: row['step'] as number,
    queue: fromList(row['queue']) as readonly string[],
    nextPosition: row['next_position'] as number,
    openCalls: fromList(row['open_calls']) as readonly OpenCall[],
    next: fromList(row['next']) as readonly string[],
    openInterrupts: fromList(row['open_interrupts']) as readonly string[],
    claims: row['claims'] as number,
    deleting: row['deleting'] as boolean,
    ...optional('name', row['name'] as string | null),
    ...optional('metadata', row['metadata'] as Uint8Array | null),
    ...optional('activeRun', row['active_run'] as string | null),
    ...optional('activeStatus', row['active_status'] as OpenStatus | null),
    ...optional('worker', row['worker'] as string | null),
    ...optional('foundVersion', row['found_version'] as number | null),
    ...optional('newestRun', row['newest_run'] as string | null),
    ...optional('agent', row['agent'] as string | null),
    ...optional('revision', row['revision'] as string | null),
    ...optional('lastRevision', row['last_revision'] as string | null),
    ...optional('failedRun', row['failed_run'] as string | null),
    ...optional('ttl', row['ttl'] as number | null),
    ...optional('title', row['title'] as string | null),
    ...optional('runCount', row['run_count'] as number | null),
    ...optional('interruptedRun', row['interrupted_run'] as string | null),
    ...addressedIn(row),
    ...optional('answeredByOthers', row['answered_by_others'] as true | null),
    ...optional('progress', row['progress'] as Uint8Array | null),
    size: { fields: row['field_bytes'] as number, context: row['context_bytes'] as number },
  };
}

const addressedIn = ({ addressed }: Row): Pick<Head, 'addressed'> =>
  typeof addressed === 'string' ? { addressed: JSON.parse(addressed) as readonly AddressedQuestion[] } : {};

/** The columns of a run with their values. */
export const runValues = (run: RunRecord): Readonly<Record<string, Param>> => ({
  run_id: run.runId,
  thread_id: run.threadId,
  request_id: run.requestId,
  status: run.status,
  granularity: run.granularity,
  is_new_thread: run.isNewThread,
  created_at: run.createdAt,
  updated_at: run.updatedAt,
  resumes: run.resumes ?? null,
  '"end"': run.end ? JSON.stringify(run.end) : null,
  options: run.options,
  input: run.input ?? null,
  answers: toList(run.answers),
  has_new_input: run.hasNewInput,
  resume: run.resume ? toList(run.resume) : null,
  output_from: run.outputFrom ?? null,
  output_to: run.outputTo ?? null,
  wake_at: run.wakeAt ?? null,
  usage: run.usage ?? null,
  served_by: run.revision ?? null,
  webhook: run.webhook ?? null,
  priority: run.priority ?? null,
  started_at: run.startedAt ?? null,
  ordinal: run.ordinal ?? null,
  resumed_by: run.resumedBy ?? null,
});

export const toOpenRun = (row: Row): OpenRun => ({ ...toRunRow(row), owner: row['owner'] as string });
