import type { StatementSync } from 'node:sqlite';
import { fromStoredId, toStoredId, type StoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Granularity, OpenStatus, RunStatus } from '@agent-workflow/protos/lists';
import type { OpenCall, RunEnd } from '@agent-workflow/protos/threads';
import type { ThreadRow } from '../../ports/lists.ts';
import type { AddressedQuestion, Head, PlacedEntry, RunRecord } from '../../ports/record.ts';
import { fromList, toList, toLogEntry, type Row } from '../../record/sql-rows.ts';

export const toIdOrNull = (id: string | undefined): StoredId | null => (id === undefined ? null : toStoredId(id));

/** What `node:sqlite` gives for a row: an object of its own each time. */
type FreshRow = Record<string, unknown>;

/** Brings back ids in place: a copy would take longer than all else that is done with a row. */
function withIds(row: FreshRow, columns: readonly string[]): Row {
  for (const column of columns) if (row[column] instanceof Uint8Array) row[column] = fromStoredId(row[column]);
  return row;
}

/** Runs with the ids of their threads, read run by run. */
export const runsOfThreads =
  'runs CROSS JOIN (SELECT ref AS thread_ref, thread_id FROM threads) AS thread ON thread_ref = runs.ref';

const idsOfRun = ['run_id', 'request_id'];

/** The columns of a run as all stores with tables have them, of those that were selected. */
export const toRunColumns = (row: FreshRow): Row => withIds(row, idsOfRun);

const idsOfCheckpoint = ['run_id'];

/** The columns of a checkpoint as all stores with tables have them. */
export const toCheckpointColumns = (row: FreshRow): Row => withIds(row, idsOfCheckpoint);

/** An entry of a thread whose context has this number. */
export const toPlacedEntry = (row: Row, contextNumber: number): PlacedEntry => ({
  ...toLogEntry(row),
  inContext: row['in_context'] === contextNumber,
});

/** What a list reads of a thread; the metadata where they have at most so many bytes as the first value says. */
export const listed = `thread_id, name, CASE WHEN length(metadata) <= ? THEN CAST(metadata AS TEXT) END, metadata IS NULL,
  created_at, updated_at, newest_run, version, agent, title`;

/** The columns of `listed`, in their order. */
export type ListedRow = [
  threadId: string,
  name: string | null,
  metadata: string | null,
  hasNoMetadata: number,
  createdAt: number,
  updatedAt: number,
  newestRun: string | null,
  version: number,
  agent: string | null,
  title: string | null,
];

/** Rows as arrays: a list is read in two thirds of the time that named columns take. */
export function arraysOf(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

/** A thread of a list; `readMetadata` reads those that the row does not have because they are long. */
export function toThreadRow(
  [threadId, name, metadata, hasNoMetadata, createdAt, updatedAt, newestRun, version, agent, title]: ListedRow,
  readMetadata: (threadId: string) => Uint8Array,
): ThreadRow {
  const row: { -readonly [K in keyof ThreadRow]: ThreadRow[K] } = { threadId, createdAt, updatedAt, version };
  if (name !== null) row.name = name;
  if (metadata !== null) row.metadata = Buffer.from(metadata);
  else if (hasNoMetadata === 0) row.metadata = readMetadata(threadId);
  if (newestRun !== null) row.newestRun = newestRun;
  if (agent !== null) row.agent = agent;
  if (title !== null) row.title = title;
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
  'agent',
  'revision',
  'last_revision',
  'failed_run',
  'ttl',
  'title',
  'run_count',
  'addressed',
  'answered_by_others',
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
  head.size.fields,
  head.size.context,
  head.agent ?? null,
  head.revision ?? null,
  head.lastRevision ?? null,
  head.failedRun ?? null,
  head.ttl ?? null,
  head.title ?? null,
  head.runCount ?? null,
  head.addressed ? JSON.stringify(head.addressed) : null,
  head.answeredByOthers ? 1 : null,
];

/** The columns of a run, in the order of {@link fromRun}. */
export const columnsOfRun = [
  'run_id',
  'request_id',
  'status',
  'granularity',
  'is_new_thread',
  'created_at',
  'updated_at',
  'resumes',
  '"end"',
  'options',
  'input',
  'answers',
  'has_new_input',
  'resume',
  'output_from',
  'output_to',
  'wake_at',
  'usage',
  'served_by',
  'webhook',
  'priority',
  'started_at',
  'ordinal',
  'resumed_by',
];

export const selectedRun = columnsOfRun.map((name) => `runs.${name}`).join(', ');

export const fromRun = (run: RunRecord): (string | number | Uint8Array | null)[] => [
  toStoredId(run.runId),
  toStoredId(run.requestId),
  run.status,
  run.granularity,
  Number(run.isNewThread),
  run.createdAt,
  run.updatedAt,
  run.resumes ?? null,
  run.end ? JSON.stringify(run.end) : null,
  run.options,
  run.input ?? null,
  toList(run.answers),
  Number(run.hasNewInput),
  run.resume ? toList(run.resume) : null,
  run.outputFrom ?? null,
  run.outputTo ?? null,
  run.wakeAt ?? null,
  run.usage ?? null,
  run.revision ?? null,
  run.webhook ?? null,
  run.priority ?? null,
  run.startedAt ?? null,
  run.ordinal ?? null,
  run.resumedBy ?? null,
];

export type ColumnsOfRun = readonly [
  runId: StoredId,
  requestId: StoredId,
  status: RunStatus,
  granularity: Granularity,
  isNewThread: number,
  createdAt: number,
  updatedAt: number,
  resumes: string | null,
  end: string | null,
  options: Uint8Array,
  input: Uint8Array | null,
  answers: string,
  hasNewInput: number,
  resume: string | null,
  outputFrom: number | null,
  outputTo: number | null,
  wakeAt: number | null,
  usage: string | null,
  revision: string | null,
  webhook: string | null,
  priority: number | null,
  startedAt: number | null,
  ordinal: number | null,
  resumedBy: string | null,
];

export function toRun(threadId: string, columns: ColumnsOfRun): RunRecord {
  const { 0: runId, 1: requestId, 2: status, 3: granularity, 4: isNewThread, 5: createdAt, 6: updatedAt } = columns;
  const { 7: resumes, 8: end, 9: options, 10: input, 11: answers, 12: hasNewInput, 13: resume } = columns;
  const { 14: outputFrom, 15: outputTo, 16: wakeAt, 17: usage, 18: revision, 19: webhook, 20: priority } = columns;
  const { 21: startedAt, 22: ordinal, 23: resumedBy } = columns;
  const run: { -readonly [K in keyof RunRecord]: RunRecord[K] } = {
    runId: fromStoredId(runId),
    threadId,
    requestId: fromStoredId(requestId),
    status,
    granularity,
    isNewThread: isNewThread === 1,
    createdAt,
    updatedAt,
    options,
    answers: fromList(answers) as readonly string[],
    hasNewInput: hasNewInput === 1,
  };
  if (resumes !== null) run.resumes = resumes;
  if (end !== null) run.end = JSON.parse(end) as RunEnd;
  if (input !== null) run.input = input;
  if (resume !== null) run.resume = fromList(resume) as readonly string[];
  if (outputFrom !== null) run.outputFrom = outputFrom;
  if (outputTo !== null) run.outputTo = outputTo;
  if (wakeAt !== null) run.wakeAt = wakeAt;
  if (usage !== null) run.usage = usage;
  if (revision !== null) run.revision = revision;
  if (webhook !== null) run.webhook = webhook;
  if (priority !== null) run.priority = priority;
  if (startedAt !== null) run.startedAt = startedAt;
  if (ordinal !== null) run.ordinal = ordinal;
  if (resumedBy !== null) run.resumedBy = resumedBy;
  return run;
}

/** A head as it is selected: what stands once, then `headColumns`. */
export const selectedHead = `threads.ref, context_number, checkpoints_since,
  EXISTS (SELECT 1 FROM gaps WHERE gaps.ref = threads.ref), EXISTS (SELECT 1 FROM tool_calls WHERE tool_calls.ref = threads.ref),
  name, metadata, threads.created_at, threads.updated_at, deleting,
  ${headColumns.map((name) => `threads.${name}`).join(', ')}`;

export type HeadColumns = [
  ref: number,
  contextNumber: number,
  checkpointsSince: number | null,
  hasGaps: number,
  hasToolCalls: number,
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
  fieldBytes: number,
  contextBytes: number,
  agent: string | null,
  revision: string | null,
  lastRevision: string | null,
  failedRun: string | null,
  ttl: number | null,
  title: string | null,
  runCount: number | null,
  addressed: string | null,
  answeredByOthers: number | null,
];

/** Written out, for every change begins with it: an object built key by key takes a third of the time of one spread together. */
export function toHead(row: HeadColumns): Head {
  const { 5: name, 6: metadata, 7: createdAt, 8: updatedAt, 9: deleting, 10: version, 11: epoch, 12: step } = row;
  const { 13: activeRun, 14: activeStatus, 15: worker, 16: foundVersion, 17: newestRun, 18: queue } = row;
  const { 19: nextPosition, 20: openCalls, 21: next, 22: interruptedRun, 23: openInterrupts, 24: claims } = row;
  const { 25: progress, 26: fieldBytes, 27: contextBytes, 28: agent, 29: revision, 30: lastRevision } = row;
  const { 31: failedRun, 32: ttl, 33: title, 34: runCount, 35: addressed, 36: answeredByOthers } = row;
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
    size: { fields: fieldBytes, context: contextBytes },
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
  if (agent !== null) head.agent = agent;
  if (revision !== null) head.revision = revision;
  if (lastRevision !== null) head.lastRevision = lastRevision;
  if (failedRun !== null) head.failedRun = failedRun;
  if (ttl !== null) head.ttl = ttl;
  if (title !== null) head.title = title;
  if (runCount !== null) head.runCount = runCount;
  if (addressed !== null) head.addressed = JSON.parse(addressed) as readonly AddressedQuestion[];
  if (answeredByOthers === 1) head.answeredByOthers = true;
  return head;
}
