import { createQuota } from '@agent-workflow/kit/pages';
import type { CheckpointSource, Granularity, OpenStatus, RunStatus } from '@agent-workflow/protos/lists';
import type { RunEnd, StepWork } from '@agent-workflow/protos/threads';
import type { CheckpointRow, TraceRow } from '../ports/history.ts';
import type { OwnRunRow, AllRunsPart, OwnRunsPart, RunMark, RunRow } from '../ports/lists.ts';
import type { LogEntry, RunRecord, ThreadKey } from '../ports/record.ts';
import type { SleepingRun } from '../ports/sweeps.ts';
import { ownRunBytes } from './row-sizes.ts';

/** A row of a table by the names of its columns. The stores that keep tables name them alike. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows up to the page's limit in bytes; the statement has applied the limit in rows. */
export function take<R, T>(rows: Iterable<R>, toItem: (row: R) => T, sizeOf: (item: T) => number, bytes?: number): T[] {
  const items: T[] = [];
  const isEnough = createQuota(bytes);
  for (const row of rows) {
    const item = toItem(row);
    items.push(item);
    if (isEnough(sizeOf(item))) break;
  }
  return items;
}

/** An empty list as a column has it. */
export const noList = '[]';
export const toList = (items: readonly unknown[]): string => (items.length === 0 ? noList : JSON.stringify(items));
export const fromList = (json: unknown): readonly unknown[] =>
  json === noList ? [] : (JSON.parse(json as string) as unknown[]);

/** A column as an optional key: null is absent. */
export const optional = <K extends string, V>(key: K, value: V | null): Partial<Record<K, V>> =>
  (value === null ? {} : { [key]: value }) as Partial<Record<K, V>>;

export const toKey = (row: Row): ThreadKey => ({ owner: row['owner'] as string, threadId: row['thread_id'] as string });

/** An entry; with its version where that column was selected. */
export const toLogEntry = (row: Row): LogEntry => ({
  position: row['position'] as number,
  messageId: row['message_id'] as string,
  json: row['json'] as Uint8Array,
  ...toEntryVersion(row),
});

const toEntryVersion = ({ version }: Row): Pick<LogEntry, 'version'> =>
  typeof version === 'number' ? { version } : {};

export const toStoredMessage = (row: Row): Pick<LogEntry, 'position' | 'json' | 'version'> => ({
  position: row['position'] as number,
  json: row['json'] as Uint8Array,
  ...toEntryVersion(row),
});

/** The columns of {@link toCheckpointRow}. */
export const checkpointColumns = 'version, source, run_id, step, nodes, next, at, metadata, work';

export const toCheckpointRow = (row: Row): CheckpointRow => ({
  version: row['version'] as number,
  source: row['source'] as CheckpointSource,
  ...optional('runId', row['run_id'] as string | null),
  ...optional('step', row['step'] as number | null),
  nodes: fromList(row['nodes']) as readonly string[],
  next: fromList(row['next']) as readonly string[],
  at: row['at'] as number,
  ...optional('metadata', row['metadata'] as Uint8Array | null),
  ...(typeof row['work'] === 'string' ? { work: JSON.parse(row['work']) as StepWork } : {}),
});

export const toTraceRow = (row: Row): TraceRow => ({
  version: row['version'] as number,
  spansJson: row['trace'] as Uint8Array,
  ...optional('contentJson', row['trace_content'] as Uint8Array | null),
});

/** How a step ran, as a column has it. */
export const fromWork = (work: StepWork | undefined): string | null => (work ? JSON.stringify(work) : null);

/** A truth value as a store has it: PostgreSQL a boolean, SQLite 1 or 0. */
const toBoolean = (value: unknown): boolean => value === true || value === 1;

export const toRun = (row: Row): RunRecord => ({
  ...toRunRow(row),
  options: row['options'] as Uint8Array,
  ...optional('input', row['input'] as Uint8Array | null),
  answers: fromList(row['answers']) as readonly string[],
  hasNewInput: toBoolean(row['has_new_input']),
  ...(row['resume'] === null ? {} : { resume: fromList(row['resume']) as readonly string[] }),
  ...optional('outputFrom', row['output_from'] as number | null),
  ...optional('outputTo', row['output_to'] as number | null),
  ...optional('webhook', row['webhook'] as string | null),
});

/** The columns of {@link toRunRow}. */
export const runColumns =
  'run_id, thread_id, request_id, status, granularity, is_new_thread, created_at, updated_at, resumes, "end", usage, ' +
  "CASE WHEN status = 'sleeping' THEN wake_at END AS wake_at, served_by, priority, started_at, ordinal, resumed_by";

export const toRunRow = (row: Row): RunRow => ({
  runId: row['run_id'] as string,
  threadId: row['thread_id'] as string,
  requestId: row['request_id'] as string,
  status: row['status'] as RunStatus,
  granularity: row['granularity'] as Granularity,
  isNewThread: toBoolean(row['is_new_thread']),
  createdAt: row['created_at'] as number,
  updatedAt: row['updated_at'] as number,
  ...optional('resumes', row['resumes'] as string | null),
  ...optional('end', row['end'] === null ? null : (JSON.parse(row['end'] as string) as RunEnd)),
  ...optional('usage', row['usage'] as string | null),
  ...optional('wakeAt', row['wake_at'] as number | null),
  ...optional('revision', row['served_by'] as string | null),
  ...optional('priority', row['priority'] as number | null),
  ...optional('startedAt', row['started_at'] as number | null),
  ...optional('ordinal', row['ordinal'] as number | null),
  ...optional('resumedBy', row['resumed_by'] as string | null),
});

/** What {@link toOwnRunRow} needs of a thread beside {@link runColumns}, for a join on `thread_ref`. */
export const headOfRunColumns =
  'ref AS thread_ref, deleting, active_run, active_status, worker, epoch, agent, revision, name, title, next, interrupted_run, newest_run';

/** The columns of such a join. */
export const ownRunColumns = `${runColumns}, ${headOfRunColumns.replace('ref AS ', '')}`;

const toOwnRunRow = (row: Row): OwnRunRow => ({
  ...toRunRow(row),
  head: {
    epoch: row['epoch'] as number,
    next: fromList(row['next']) as readonly string[],
    ...optional('interruptedRun', row['interrupted_run'] as string | null),
    ...optional('newestRun', row['newest_run'] as string | null),
    ...optional('activeRun', row['active_run'] as string | null),
    ...optional('activeStatus', row['active_status'] as OpenStatus | null),
    ...optional('worker', row['worker'] as string | null),
    ...optional('agent', row['agent'] as string | null),
    ...optional('revision', row['revision'] as string | null),
    ...optional('name', row['name'] as string | null),
    ...optional('title', row['title'] as string | null),
  },
});

interface PartLimits {
  readonly limit: number;
  readonly bytes?: number | undefined;
}

/** Rows of {@link runColumns} and {@link headOfRunColumns} as a part of an owner's list, of at most so many rows. */
export const toOwnRunsPart = (rows: Iterable<Row>, limits: PartLimits): OwnRunsPart =>
  toRunsPart(rows, limits, toOwnRunRow);

/** The same with the column `owner`. */
export const toAllRunsPart = (rows: Iterable<Row>, limits: PartLimits): AllRunsPart =>
  toRunsPart(rows, limits, (row) => ({ ...toOwnRunRow(row), owner: row['owner'] as string }));

function toRunsPart<R extends OwnRunRow>(
  rows: Iterable<Row>,
  { limit, bytes }: PartLimits,
  toRunRowOf: (row: Row) => R,
): { readonly runs: readonly R[]; readonly next?: RunMark } {
  const runs: R[] = [];
  const isEnough = createQuota(bytes);
  let places = 0;
  for (const row of rows) {
    places += 1;
    const run = toRunRowOf(row);
    if (!toBoolean(row['deleting'])) runs.push(run);
    if (places === limit || isEnough(ownRunBytes(run)))
      return { runs, next: { createdAt: run.createdAt, runId: run.runId } };
  }
  return { runs };
}

export const toSleepingRun = (row: Row): SleepingRun => ({
  ...toKey(row),
  runId: row['run_id'] as string,
  wakeAt: row['wake_at'] as number,
  ...(row['status'] === 'interrupted' && { isAsking: true }),
});
