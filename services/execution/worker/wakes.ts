import { eachOf } from '@agent-workflow/kit/each';
import { canBeRetried, fromUnknown } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type {
  ListSleepingRunsReply,
  RunCalls,
  SleepingRun,
  SweepCalls,
  WakeMark,
} from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { named } from '../record/agents.ts';
import type { RunQueue } from '../ports/queue.ts';
import type { RecordClock } from './record-clock.ts';

interface WakesOptions {
  readonly threads: Pick<SweepCalls, 'listSleepingRuns'> & Pick<RunCalls, 'passDeadline'>;
  readonly queue: Pick<RunQueue, 'enqueue'>;
  /** Is read here twice a second, so that it is known also where a run is claimed by its acceptance. */
  readonly clock: Pick<RecordClock, 'read'>;
  readonly log: Log;
}

/** How often sleeping runs are looked for whose time has come, in milliseconds: less than the second within which they continue. */
const intervalMs = 500;

/** A run may be noted so long after the time at which it wakes: its commit took so long, or clocks differ. In milliseconds. */
const lateMs = 5000;
/** How often all runs that should be awake are enqueued again, in case the queue lost them, in milliseconds. */
const againMs = 30_000;
const runsAtOnce = 1000;
const enqueuedAtOnce = 32;
/** Runs that are remembered as enqueued, more than wake in `lateMs` where the queue can be kept short. */
const remembered = 20_000;
const callTimeoutMs = 30_000;

/**
 * Enqueues sleeping runs when their time has come, and has threads go on whose questions nobody has answered before their deadlines. Every
 * replica does it: a queue does not add a run that it has, the record gives each run to one worker, and decides by its own clock. What fails is made good half a second later.
 */
export function openWakes(options: WakesOptions): AsyncDisposable {
  const { log } = options;
  const wake = createWakes(options);
  let isFailing = false;
  const onError = (error: unknown): void => {
    // It is tried twice a second, also while the record is unavailable for long.
    if (!isFailing) log.error({ err: error }, 'sleeping runs could not be woken; it is tried again');
    isFailing = true;
  };
  return every(
    intervalMs,
    async () => {
      await wake();
      if (isFailing) log.info('sleeping runs are woken again');
      isFailing = false;
    },
    onError,
  );
}

function createWakes({ threads, queue, clock, log }: WakesOptions): () => Promise<void> {
  const enqueued = new LRUCache<string, true>({ maxSize: remembered, sizeCalculation: () => 1 });
  const timed: Pick<SweepCalls, 'listSleepingRuns'> = {
    listSleepingRuns: (request, call) => clock.read(() => threads.listSleepingRuns(request, call)),
  };
  /** Up to where the list has been read; absent until it was read once from its start. */
  let readTo: number | undefined;
  let readAllAt = -Infinity;

  const enqueue = async (run: SleepingRun): Promise<void> => {
    const { owner, threadId, runId, agent, revision } = run;
    await queue.enqueue({ owner, threadId, runId, ...named(agent, revision) });
    enqueued.set(nameOf(run), true);
  };

  const passDeadline = async ({ owner, threadId, runId, ...asking }: SleepingRun): Promise<void> => {
    try {
      const reply = await threads.passDeadline({ owner, threadId, runId }, within(callTimeoutMs));
      const run = { owner, threadId, ...named(reply.agent ?? asking.agent, reply.revision) };
      if (reply.runId !== undefined) await queue.enqueue({ ...run, runId: reply.runId });
      // One that is early is asked for again at once.
      if (!reply.isEarly) enqueued.set(nameOf({ owner, threadId, runId, ...asking }), true);
    } catch (error) {
      if (canBeRetried(error)) throw error;
      enqueued.set(nameOf({ owner, threadId, runId, ...asking }), true);
      log.error({ err: error, runId }, 'the deadline of a question could not be passed; it is tried again');
    }
  };

  /** What fails stops no other; the next sweep begins again where this one began. */
  let failed: unknown;
  const handle = async (run: SleepingRun): Promise<void> =>
    (run.isAsking ? passDeadline(run) : enqueue(run)).catch((error: unknown) => {
      failed ??= error;
    });

  return async () => {
    const started = performance.now();
    let until: number | undefined;
    failed = undefined;
    const isAgain = readTo === undefined || started - readAllAt >= againMs;
    const after = isAgain || readTo === undefined ? undefined : { wakeAt: readTo - lateMs, runId: '' };
    for await (const { runs, now } of sleepingRuns(timed, { after })) {
      until ??= now;
      const due = runs.filter((run) => isAgain || !enqueued.has(nameOf(run)));
      await eachOf(due, enqueuedAtOnce, handle);
    }
    if (isAgain) readAllAt = started;
    readTo = failed === undefined ? until : (readTo ?? 0);
    if (failed !== undefined) throw fromUnknown(failed);
  };
}

interface Sleepers {
  /** Absent: until now, by the clock of the record. */
  readonly until?: number;
  readonly after?: WakeMark | undefined;
}

/** The runs that sleep until then or less, after a mark, page by page. */
export async function* sleepingRuns(
  threads: Pick<SweepCalls, 'listSleepingRuns'>,
  { until, after: first }: Sleepers,
): AsyncGenerator<ListSleepingRunsReply> {
  for (let after = first; ;) {
    const request = { limit: runsAtOnce, ...(until !== undefined && { until }), ...(after && { after }) };
    const reply = await threads.listSleepingRuns(request, within(callTimeoutMs));
    yield reply;
    const last = reply.runs.at(-1);
    if (!reply.hasMore || !last) return;
    after = { wakeAt: last.wakeAt, runId: last.runId };
  }
}

/** All runs that sleep, and all questions that have deadlines. */
export const allSleepers: Sleepers = { until: Number.MAX_SAFE_INTEGER };

const nameOf = ({ owner, runId, wakeAt }: SleepingRun): string => JSON.stringify([owner, runId, wakeAt]);
