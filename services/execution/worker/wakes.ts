import { eachOf } from '@agent-workflow/kit/each';
import { canBeRetried } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { RunCalls, SleepingRun, SweepCalls, WakeMark } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { named } from '../record/agents.ts';
import type { RunQueue } from '../ports/queue.ts';

interface WakesOptions {
  readonly threads: Pick<SweepCalls, 'listSleepingRuns'> & Pick<RunCalls, 'passDeadline'>;
  readonly queue: Pick<RunQueue, 'enqueue'>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
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

function createWakes({ threads, queue, now, log }: WakesOptions): () => Promise<void> {
  const enqueued = new LRUCache<string, true>({ maxSize: remembered, sizeCalculation: () => 1 });
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

  return async () => {
    const until = now();
    const started = performance.now();
    const isAgain = readTo === undefined || started - readAllAt >= againMs;
    const after = isAgain || readTo === undefined ? undefined : { wakeAt: readTo - lateMs, runId: '' };
    for await (const runs of sleepingRuns(threads, until, after)) {
      const due = runs.filter((run) => isAgain || !enqueued.has(nameOf(run)));
      await eachOf(due, enqueuedAtOnce, (run) => (run.isAsking ? passDeadline(run) : enqueue(run)));
    }
    if (isAgain) readAllAt = started;
    readTo = until;
  };
}

/** The runs that sleep until `until` or less, after `first`, page by page. Without these bounds all of them. */
export async function* sleepingRuns(
  threads: Pick<SweepCalls, 'listSleepingRuns'>,
  until = Number.MAX_SAFE_INTEGER,
  first?: WakeMark,
): AsyncGenerator<readonly SleepingRun[]> {
  for (let after = first; ;) {
    const request = { until, limit: runsAtOnce, ...(after && { after }) };
    const { runs, hasMore } = await threads.listSleepingRuns(request, within(callTimeoutMs));
    yield runs;
    const last = runs.at(-1);
    if (!hasMore || !last) return;
    after = { wakeAt: last.wakeAt, runId: last.runId };
  }
}

const nameOf = ({ owner, runId, wakeAt }: SleepingRun): string => JSON.stringify([owner, runId, wakeAt]);
