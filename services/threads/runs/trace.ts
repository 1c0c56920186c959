import { createQuota } from '@agent-workflow/kit/pages';
import { isOpen } from '@agent-workflow/protos/lists';
import type {
  ListRunTraceReply,
  ListRunTraceRequest,
  TracedStep,
  UncommittedStep,
} from '@agent-workflow/protos/threads';
import type { CheckpointRow, ThreadHistory, TraceRow } from '../ports/history.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { toCheckpointId } from '../record/head.ts';
import { traceBytes } from '../record/row-sizes.ts';
import { stepRows } from './steps.ts';

/** Steps of one reply, and bytes of their traces: what is more comes with the next one. */
const mostSteps = 200;
const replyBytes = 1024 * 1024;

interface TracedRun {
  readonly run: Pick<RunRecord, 'runId' | 'status' | 'startedAt' | 'updatedAt' | 'outputFrom'>;
  /** That of its thread, read before. */
  readonly head: Head;
}

type Range = Pick<ListRunTraceRequest, 'fromStep' | 'limit' | 'withContent'>;

/** How the run's steps went that are kept, and the one that is not committed. */
export async function listRunTrace(
  store: Pick<ThreadHistory, 'listCheckpoints' | 'listTraces'>,
  key: ThreadKey,
  { fromStep, limit, withContent }: Range,
  { run, head }: TracedRun,
): Promise<ListRunTraceReply> {
  const most = Math.max(1, Math.min(limit, mostSteps));
  const rowsFrom = (first: number, count: number): Promise<readonly CheckpointRow[]> =>
    stepRows(store, { key, runId: run.runId, fromStep: first, most: count, below: head.version + 1 });
  const rows = await rowsFrom(fromStep, most + 1);
  const [first] = rows;
  if (!first) {
    const [before] = fromStep === 0 ? [] : await rowsFrom(fromStep - 1, 1);
    return fromStep > 0 && !before ? { steps: [], hasMore: false } : lastReply([], before, { run, head });
  }
  const wanted = rows.slice(0, most);
  const to = wanted.at(-1)?.version ?? first.version;
  const traces = await store.listTraces(key, { from: first.version, to, withContent, bytes: replyBytes });
  const shown = upToQuota(wanted, traces);
  const steps = shown.map((row) => toTracedStep(row, traces));
  return shown.length < rows.length ? { steps, hasMore: true } : lastReply(steps, shown.at(-1), { run, head });
}

/** The steps whose traces were read. */
function upToQuota(rows: readonly CheckpointRow[], traces: readonly TraceRow[]): readonly CheckpointRow[] {
  const isEnough = createQuota(replyBytes);
  const cut = traces.find((trace) => isEnough(traceBytes(trace)));
  // The one that is over the quota comes first in the next reply.
  return cut ? rows.filter(({ version }) => version < cut.version) : rows;
}

function toTracedStep(
  { version, step = 0, nodes, next, at, work }: CheckpointRow,
  traces: readonly TraceRow[],
): TracedStep {
  const found = traces.find((trace) => trace.version === version);
  const trace = found && {
    spansJson: found.spansJson,
    ...(found.contentJson && { contentJson: found.contentJson }),
  };
  return {
    ...{ step, nodes, next, at, checkpointId: toCheckpointId(version) },
    ...(work && { work }),
    ...(trace && { trace }),
  };
}

function lastReply(
  steps: readonly TracedStep[],
  last: Pick<CheckpointRow, 'step' | 'nodes' | 'next' | 'at'> | undefined,
  traced: TracedRun,
): ListRunTraceReply {
  const uncommitted = uncommittedStep(last, traced);
  return { steps, hasMore: false, ...(uncommitted && { uncommitted }) };
}

/** The step that a run is in, or was in when others ended it. */
function uncommittedStep(
  last: Pick<CheckpointRow, 'step' | 'nodes' | 'next' | 'at'> | undefined,
  { run, head }: TracedRun,
): UncommittedStep | undefined {
  const isDriven = head.activeRun === run.runId && head.activeStatus === 'running';
  if (!isDriven && !wasEndedByOthers(last, run)) return undefined;
  const { nodes, at: since } = last
    ? { nodes: last.next, at: last.at }
    : { nodes: [], at: run.startedAt ?? run.updatedAt };
  return { step: (last?.step ?? -1) + 1, nodes, since };
}

/** A commit that ends a run has no next nodes, or is of no node. */
const wasEndedByOthers = (
  last: Pick<CheckpointRow, 'nodes' | 'next'> | undefined,
  { status, outputFrom }: TracedRun['run'],
): boolean =>
  !isOpen(status) &&
  (status === 'stopped' || status === 'failed') &&
  (last ? last.nodes.length > 0 && last.next.length > 0 : outputFrom !== undefined);
