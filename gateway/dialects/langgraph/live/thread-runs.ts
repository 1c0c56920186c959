import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Call } from '@agent-workflow/protos/call';
import type { Run, Thread } from '@agent-workflow/protos/threads';
import type { Services } from '../../common/services.ts';
import { createPassed, type Passed } from './passed.ts';
import { pause } from './wake.ts';

/** A run that has a place in its thread. */
type ThreadRun = Run & { readonly ordinal: number };

/** Where a stream of a thread begins. */
export type Start =
  /** With the runs that are open. */
  | 'open'
  /** With those that have ended of late, too: their events are kept. */
  | 'kept'
  /** With the run of this ordinal, and what began after it. */
  | { readonly ordinal: number };

interface Watching {
  readonly owner: string;
  readonly threadId: string;
  readonly start: Start;
  /** Of the whole stream. */
  readonly call: Call;
  /** Begins a call that reads the record. */
  readonly newCall: () => Call;
}

/** Events of a run are kept for so long after its end, in milliseconds, unless the service is set otherwise. */
const keptMs = 60 * 60 * 1000;
/** Runs that have ended with which a stream begins at most. */
const mostEnded = 100;
/** The runs of one page. */
const pageOfRuns = 100;

/** How long until the record is read again, after so many milliseconds without a run: soon at first, then less and less often. In milliseconds. */
const pauseAfter = (idleMs: number): number => Math.min(2000, 200 + idleMs / 20);

/**
 * The runs of a thread, each when its turn has come, until the call ends: those that are kept, and those that come. Who reads them asks for
 * the next when one has ended; at most one run of a thread is under way. A thread that is not there yet is waited for, and so is a record
 * that cannot be read. Runs that were accepted before the record counted them are not among them.
 */
export async function* runsOfThread(
  { owner, threadId, start, call, newCall }: Watching,
  { threads }: Pick<Services, 'threads'>,
): AsyncGenerator<ThreadRun> {
  const key = { owner, threadId };
  let passed: Passed | undefined;
  let known: Thread | undefined;
  let waiting: readonly ThreadRun[] = [];
  let since = performance.now();

  const readAgain = async (): Promise<void> => {
    const thread = await undefinedIfNotFound(threads.getThread(key, newCall()));
    // A thread that was deleted and made again counts its runs anew.
    if (!thread || (known && thread.createdAt !== known.createdAt)) {
      passed = createPassed();
      waiting = [];
      known = undefined;
    }
    if (thread?.runId === undefined) passed ??= createPassed();
    else if (thread.runId !== known?.runId || waiting.length > 0) {
      const found = await recentRuns(threads, { ...key, thread, passed }, newCall);
      passed ??= createPassed(before(found, start));
      const { isPassed } = passed;
      waiting = found.runs.filter(({ ordinal }) => !isPassed(ordinal)).toSorted(byTurn);
    }
    known = thread;
  };

  while (!call.signal.aborted && Date.now() < call.deadline) {
    await ifReadable(readAgain());
    const next = waiting.find((run) => run.runnable || run.status !== 'queued');
    if (next) {
      yield next;
      passed?.pass(next.ordinal);
      waiting = waiting.filter((run) => run !== next);
      since = performance.now();
    } else {
      await pause(key, pauseAfter(performance.now() - since), call.signal);
    }
  }
}

/** A record that cannot be read for now is read again. */
async function ifReadable(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (
      !isServiceError(error, 'Unavailable') &&
      !isServiceError(error, 'Timeout') &&
      !isServiceError(error, 'NotFound')
    )
      throw error;
  }
}

interface Reading {
  readonly owner: string;
  readonly threadId: string;
  readonly thread: Thread;
  /** Absent when it is read for the first time. */
  readonly passed: Passed | undefined;
}

interface Found {
  readonly runs: readonly ThreadRun[];
  /** The ordinal of the run behind the last that was read; 0: there is none. */
  readonly end: number;
}

/** The runs of a thread that are open or have ended of late, without those that are passed. */
async function recentRuns(
  threads: Services['threads'],
  { owner, threadId, thread, passed }: Reading,
  newCall: () => Call,
): Promise<Found> {
  const runs: ThreadRun[] = [];
  const since = Date.now() - keptMs;
  // The run that holds the thread may stand behind many that were cancelled while they waited for it.
  let isComplete = thread.activeRunId === undefined;
  let ended = 0;
  let cursor: string | undefined;
  do {
    const at = cursor === undefined ? {} : { cursor };
    const page = await threads.listRuns({ owner, threadId, limit: pageOfRuns, offset: 0, ...at }, newCall());
    for (const run of page.runs) {
      const { ordinal } = run;
      if (ordinal === undefined) return { runs, end: 0 };
      const isOver = !isOpen(run.status);
      const isOld = isOver && (run.updatedAt < since || ended >= mostEnded);
      if (passed ? passed.isBelow(ordinal) : isOld && isComplete) return { runs, end: ordinal };
      if (isOver) ended += 1;
      if (run.runId === thread.activeRunId) isComplete = true;
      if (passed !== undefined || !isOld) runs.push({ ...run, ordinal });
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  return { runs, end: 0 };
}

/** The order in which runs had the thread; those that wait for it stand last. */
const byTurn = (one: ThreadRun, other: ThreadRun): number =>
  (one.startedAt ?? later) - (other.startedAt ?? later) || one.ordinal - other.ordinal;

const later = Number.MAX_SAFE_INTEGER;

/** What a stream does not begin with: what was not found, and what of that is not wanted. */
function before({ runs, end }: Found, start: Start): { readonly below: number; readonly also: readonly number[] } {
  const from = typeof start === 'object' ? runs.find(({ ordinal }) => ordinal === start.ordinal) : undefined;
  const isWanted = (run: ThreadRun): boolean => {
    if (isOpen(run.status) || start === 'kept') return true;
    if (start === 'open') return false;
    return run.ordinal >= start.ordinal || (from !== undefined && byTurn(run, from) > 0);
  };
  const wanted = new Set(runs.filter(isWanted).map(({ ordinal }) => ordinal));
  const first = Math.min(end + 1, ...wanted);
  const last = Math.max(end, ...runs.map(({ ordinal }) => ordinal));
  const also = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return { below: first - 1, also: also.filter((ordinal) => !wanted.has(ordinal)) };
}
