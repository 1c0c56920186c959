import { conflict, notFound } from '@agent-workflow/kit/errors';
import { runOptionsBytes } from '@agent-workflow/kit/sizes';
import { heldMessages } from '@agent-workflow/protos/progress';
import type { AcceptRunRequest, NodeNames, RunError } from '@agent-workflow/protos/threads';
import type { Change, Snapshot } from '../ports/changes.ts';
import type { Head, RunRecord } from '../ports/record.ts';
import { fromJson, toJson } from '../record/json.ts';
import { ResumedToRead, type Resumed } from './resumed.ts';

// A run that fails or is stopped leaves in the progress of its thread where it stood. A run that tries it again or goes on begins there; any
// other run leaves it behind.

/** What the worker of a failed run leaves. */
interface LeftByWorker {
  /** The nodes of the step that failed. */
  readonly next: readonly string[];
  readonly continuation?: unknown;
  /** What nodes of the step had returned beside the one that failed. */
  readonly returned?: unknown;
  /** Whether the initial state of the run is on record. */
  readonly merged?: boolean;
  /** Whether branches and calls of the step may have records, which are kept for a time. */
  readonly hasRecords?: boolean;
}

/** Where a failed run stood. */
interface FailedPoint extends LeftByWorker {
  readonly run: string;
  /** The run whose keys its steps have, and the number of the step among the steps of those keys. */
  readonly keys: string;
  readonly from: number;
  /** Whether no step of the run was committed. */
  readonly isFirst: boolean;
  /** The version of the thread that the failure left. */
  readonly version: number;
  /** When the step failed first. */
  readonly since: number;
}

/** Of the options of a run that tries another again: whose keys its steps have, the number that its first step has among these, and since when that has failed. */
interface RetryKeys {
  readonly run: string;
  readonly from: number;
  readonly since: number;
  /** Whether its first step may have records. */
  readonly hasRecords: boolean;
}

/** For so long a step is tried again that has records, in milliseconds. Workers have these kept for two days more. */
const recordsMs = 5 * 24 * 3_600_000;

interface Options {
  readonly retry?: RetryKeys;
  readonly goesOn?: true;
  readonly initialState?: Readonly<Record<string, unknown>>;
  readonly removes?: readonly string[];
  readonly [name: string]: unknown;
}

interface Progress {
  readonly [name: string]: unknown;
  readonly returned?: unknown;
  /** Whether the initial state of the run that is under way is on record before its first step. */
  readonly merged?: boolean;
  /** The continuation of the run that is under way, or that was ended without its worker. */
  readonly ['carry']?: unknown;
  readonly failed?: LeftByWorker & Partial<FailedPoint>;
}

const holds = (json: Uint8Array, text: string): boolean =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(text);

const readProgress = (progress: Uint8Array | undefined): Progress =>
  progress ? ((fromJson(progress) as Progress | null) ?? {}) : {};

const retryIn = ({ options }: RunRecord): RetryKeys | undefined =>
  holds(options, '"retry":') ? (fromJson(options) as Options).retry : undefined;

/** The place of a step among those whose keys it has. */
function placeOf(run: RunRecord, step: number, at: number): Pick<FailedPoint, 'keys' | 'from' | 'isFirst' | 'since'> {
  const { run: keys, from, since } = retryIn(run) ?? { run: run.runId, from: 0, since: at };
  return { keys, from: from + step, isFirst: step === 0, since: step === 0 ? since : at };
}

/** Where the failed run stood that changed the thread last. */
function failedPoint({ progress }: Head): FailedPoint | undefined {
  if (!progress || !holds(progress, '"failed":')) return undefined;
  const { failed, ['carry']: continuation } = readProgress(progress);
  return failed?.run === undefined ? undefined : ({ continuation, ...failed } as FailedPoint);
}

/** The point of the run that this one tries again or goes on from, before it has begun. */
export const pointOfRetry = (head: Head, { resumes }: RunRecord): FailedPoint | undefined => {
  const point = resumes === undefined ? undefined : failedPoint(head);
  return point?.run === resumes ? point : undefined;
};

/** Whether a run goes on where its thread stands. */
export const goesOn = ({ options }: Pick<RunRecord, 'options'>): boolean =>
  holds(options, '"goesOn":') && (fromJson(options) as Options).goesOn === true;

/**
 * A run that goes on, as the one that repeats the step which failed or was stopped: with its own config, save behind answers of others, with the keys
 * of that step where nothing has changed since, and with what the first step of a run brought. Any other run, and one that goes on from anything else, stays as it is.
 * @throws ResumedToRead
 */
export function goingOn(run: RunRecord, head: Head, resumed: Resumed | undefined, now: number): RunRecord {
  const point = head.next.length === 0 && goesOn(run) ? failedPoint(head) : undefined;
  if (!point) return run;
  if (resumed?.runId !== point.run) throw new ResumedToRead(point.run);
  const left = resumed.options ? (fromJson(resumed.options) as Options) : {};
  const { goesOn: _, ...given } = fromJson(run.options) as Options;
  const own = head.answeredByOthers ? asApproved(given, left) : given;
  const hasRecords = point.hasRecords !== false;
  const isSame = point.version === head.version && !(hasRecords && now - point.since > recordsMs);
  const options = {
    ...own,
    initialState: { ...(point.merged !== true && left.initialState), ...own.initialState },
    ...(point.merged !== true && left.removes && { removes: [...left.removes, ...(own.removes ?? [])] }),
    ...(point.isFirst && 'resume' in left && answersOf(left)),
    ...(isSame && { retry: { run: point.keys, from: point.from, since: point.since, hasRecords } }),
  };
  return { ...run, options: toJson(options), resumes: point.run };
}

/** Behind answers of others a run goes on with what it had when they were asked. */
function asApproved({ config: _, context: _context, ...own }: Options, { config = {}, context }: Options): Options {
  return { ...own, config, ...(context !== undefined && { context }) };
}

/** What a run has brought for open questions: answers and who gave them, and which of them have none. */
const answersOf = ({ resume, passed, differ, answeredBy }: Options): Options => ({
  resume,
  ...(passed !== undefined && { passed }),
  ...(differ !== undefined && { differ }),
  ...(answeredBy !== undefined && { answeredBy }),
});

const stored = (failed: FailedPoint): Pick<Head, 'progress'> => ({ progress: toJson({ visits: {}, failed }) });

/** The same of a run that ends without its worker. What its step holds is left to any run that comes next, as it was before the end. */
const storedHeld = ({ continuation, ...failed }: FailedPoint): Required<Pick<Head, 'progress'>> => ({
  progress: toJson({ visits: {}, ['carry']: continuation, failed }),
});

/** What the head keeps of a run whose worker commits its failure. `head` is that of the commit. */
export function leftByCommit(head: Head, run: RunRecord, at: number): Pick<Head, 'progress'> {
  const left = head.progress && holds(head.progress, '"failed":') ? readProgress(head.progress).failed : undefined;
  if (!left || !Array.isArray(left.next) || !left.next.every((name) => typeof name === 'string')) return {};
  const { next, continuation, returned, merged, hasRecords } = left;
  return stored({
    ...{ next, continuation, returned, merged: merged === true, hasRecords: hasRecords !== false },
    ...{ run: run.runId, ...placeOf(run, head.step - 1, at), version: head.version },
  });
}

/**
 * What the head keeps of a run that was stopped: where it stood. Its step begins anew, with keys of its own. A run whose progress cannot be read is
 * stopped all the same, and leaves nothing.
 */
export function leftByStop(head: Head, run: RunRecord, at: number): Pick<Head, 'progress'> {
  try {
    const left = leftByEnd(head, run, at);
    const point = failedPoint({ ...head, ...left });
    if (point?.run !== run.runId) return left;
    const stopped = storedHeld({ ...point, returned: undefined, hasRecords: false, version: -1 });
    return stopped.progress.byteLength > stoppedBytes && !heldMessages(stopped.progress) ? {} : stopped;
  } catch {
    return {};
  }
}

/** The bound of what a stopped run leaves, in bytes: every read of the thread's head has it. */
const stoppedBytes = 256 * 1024;

/**
 * What the head keeps of a run that is ended as failed without its worker. One that has not begun leaves where a failed run before it stood, and
 * has failed there itself where it was to try that again.
 */
export function leftByEnd(head: Head, run: RunRecord, at: number): Pick<Head, 'progress'> {
  const hasBegun = head.foundVersion !== undefined && run.input === undefined;
  if (!hasBegun) {
    const point = pointOfRetry(head, run);
    if (point) return storedHeld({ ...point, run: run.runId });
    return head.progress && failedPoint(head) ? { progress: head.progress } : {};
  }
  const { step, next, version } = head;
  const { returned, merged = false, ['carry']: continuation } = readProgress(head.progress);
  return storedHeld({
    ...{ next, continuation, returned, merged: merged || step > 0, hasRecords: true },
    ...{ run: run.runId, ...placeOf(run, step, at), version },
  });
}

/**
 * The failed run that a request tries again, and where it stood.
 * @throws Conflict saying why it cannot be.
 */
function retried(
  id: string,
  { head, runs }: Snapshot,
  now: number,
): { readonly failed: RunRecord; readonly point: FailedPoint } {
  const failed = runs.get(id);
  if (!failed || !head) throw notFound(`run "${id}" does not exist`);
  const { threadId, status } = failed;
  if (status !== 'failed') throw conflict(`run "${id}" is ${status}: only a failed run can be tried again`);
  if (head.newestRun !== id) throw conflict(`run "${id}" cannot be tried again: thread "${threadId}" has a later run`);
  const point = failedPoint(head);
  if (point?.run !== id)
    throw conflict(
      `run "${id}" cannot be tried again: it failed before a step began, or thread "${threadId}" was cleared or brought back since. Send its input again`,
    );
  if (point.version !== head.version)
    throw conflict(`run "${id}" cannot be tried again: thread "${threadId}" was changed since`);
  if (point.hasRecords !== false && now - point.since > recordsMs)
    throw conflict(
      `run "${id}" cannot be tried again: it failed more than five days ago, and what its branches and calls have returned is kept no longer`,
    );
  return { failed, point };
}

/** The run that tries a failed one again, with the options of that one. @throws Conflict */
export function retryOf(id: string, run: RunRecord, request: AcceptRunRequest, snapshot: Snapshot): RunRecord {
  const { failed, point } = retried(id, snapshot, run.createdAt);
  const { accepted } = fromJson(request.optionsJson) as Options;
  const { resume, initialState, removes, share: _, ...rest } = fromJson(failed.options) as Options;
  const options = {
    ...rest,
    ...{ accepted, initialState: point.merged === true ? {} : initialState },
    ...(point.merged !== true && removes && { removes }),
    ...(point.isFirst && resume !== undefined && { resume }),
    retry: { run: point.keys, from: point.from, since: point.since, hasRecords: point.hasRecords !== false },
  };
  const { granularity, webhook } = failed;
  return { ...run, granularity, options: toJson(options), resumes: id, ...(webhook !== undefined && { webhook }) };
}

/** Why a run cannot try the failed one again, or go on from it, by which nodes the agent has and by the options of both. */
export function refusalAtFailed(
  head: Head,
  run: RunRecord,
  nodes: NodeNames | undefined,
): Pick<RunError, 'code' | 'message'> | undefined {
  const point = pointOfRetry(head, run);
  if (!point) return undefined;
  const known = nodes && new Set(nodes.names);
  const gone = known && point.next.find((node) => !known.has(node));
  const why = `run "${point.run}" cannot be tried again:`;
  if (gone !== undefined)
    return { code: 'Conflict', message: `${why} it stood at node "${gone}", which the agent no longer has` };
  const bytes = run.options.byteLength;
  if (bytes <= runOptionsBytes) return undefined;
  const most = String(runOptionsBytes);
  return {
    code: 'Invalid',
    message: `${why} its state and the new one have ${String(bytes)} bytes, more than ${most}`,
  };
}

/** The head of a claim that tries a failed run again, or goes on from it: what nodes had returned counts while nothing has changed since. */
export const atFailed = (head: Head, { next, continuation, returned, version }: FailedPoint): Head => ({
  ...head,
  openInterrupts: [],
  next,
  progress: toJson({ visits: {}, carry: continuation, ...(version === head.version && { returned }) }),
});

/** The tool calls that are of use no more: those of a failed run that another run leaves behind, or goes on from with keys of its own. */
export function leftBehind(head: Head, run: RunRecord): Pick<Change, 'dropToolCallsOf'> {
  const point = failedPoint(head);
  return point && retryIn(run)?.run !== point.keys ? { dropToolCallsOf: point.keys } : {};
}

/** The same, of a run that was tried again and has come to another end. */
export function endedRetry(run: RunRecord): Pick<Change, 'dropToolCallsOf'> {
  if (run.status === 'failed' || run.resumes === undefined) return {};
  const retry = retryIn(run);
  return retry ? { dropToolCallsOf: retry.run } : {};
}
