import { createByteBudget } from '@agent-workflow/runtime/budget';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { fromContextHeaders, requestContexts } from '@agent-workflow/kit/request-context';
import { retry, type RetryOptions } from '@agent-workflow/kit/retry';
import { within, type Replicas } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { RunFiles } from '@agent-workflow/protos/run-files';
import type { Usage } from '@agent-workflow/protos/usage';
import type {
  ClaimedRun,
  ClaimIntent,
  HistoryCalls,
  RunCalls,
  RunReadCalls,
  StateCalls,
  ThreadKey,
  ToolRecordCalls,
} from '@agent-workflow/protos/threads';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Agents } from '../record/agents.ts';
import type { KnownAgents } from '../record/known-agents.ts';
import type { RunOptions } from '../record/run-options.ts';
import type { DrivenRuns } from '../ports/leases.ts';
import type { RunLog } from '../ports/log.ts';
import type { RunQueue, TakenRun } from '../ports/queue.ts';
import type { Watchdog } from '../watchdog/watchdog.ts';
import { countDriven, createActiveRuns, type ActiveRun, type ActiveRuns, type RunReports } from './active-runs.ts';
import { createClaimAndDrive, intentOf } from './claim.ts';
import { createDriveClaimed, type DriveClaimed } from './drive-claimed.ts';
import { createLastClaims } from './last-claims.ts';
import type { Lease } from './lease.ts';
import type { RecordClock } from './record-clock.ts';
import { createRequeue } from './requeue.ts';
import { createRunEnds } from './run-ends.ts';
import { createThreadCache } from './thread-cache.ts';

export interface WorkerOptions {
  readonly workerId: string;
  readonly agents: Agents;
  readonly known: KnownAgents;
  readonly threads: RunCalls & RunReadCalls & StateCalls & HistoryCalls & ToolRecordCalls;
  readonly memory: Memory;
  /** Absent: nodes reach no files. */
  readonly files?: RunFiles | undefined;
  readonly queue: RunQueue;
  readonly eventLog: RunLog;
  readonly log: Log;
  readonly watchdog: Watchdog;
  /** The worker's own lease, held before it claims anything. */
  readonly lease: Pick<Lease, 'release'>;
  /** Runs driven at once. */
  readonly concurrency: number;
  /** Bound of the contexts of all runs under way together, in bytes of JSON. A run that does not fit waits. */
  readonly contextBytes: number;
  /** Bound of the thread states that are cached between runs, in bytes of JSON. */
  readonly threadCacheBytes: number;
  /** Whether traces keep prompts, stacks and log lines. */
  readonly tracesContent: boolean;
  /** Runs go by it. */
  readonly clock: RecordClock;
  /** Called with each claimed run and its options: for metrics. */
  readonly onClaimed?: ((claimed: ClaimedRun, options: RunOptions) => void) | undefined;
  /** Called when a run is not driven here any more. */
  readonly onDriven?: ((owner: string, runId: string) => void) | undefined;
  /** Whether a sweep of this process finds the runs that its worker has lost. */
  readonly isSwept: boolean;
  /** Called with the tokens by model that a commit has put on record: for metrics. */
  readonly onUsage?: ((added: Usage) => void) | undefined;
}

/** Claims runs and drives them, a bounded number at once. */
export interface Worker {
  /** Stands on the record of the runs that it claims. */
  readonly id: string;
  /** Takes a slot for a run that is about to be accepted; `undefined` when none is free. */
  readonly reserve: (run: ReservedRun) => Reservation | undefined;
  /** Fires the signal of a run that is driven here. Its later events and commits are dropped. */
  readonly stop: (runId: string) => void;
  /** Whether the run is driven here, so that its end will be published here. */
  readonly drives: (runId: string) => boolean;
  /** What the run reports while it is driven here; `undefined` when it is not. */
  readonly reportsOf: (runId: string) => RunReports | undefined;
  /** Whether the run is driven here, or a claim of it is under way. */
  readonly has: (runId: string) => boolean;
  /** How many runs are driven here, of each agent that is held; also none. */
  readonly driven: () => readonly DrivenRuns[];
  /** Drops the cached state of a thread. */
  readonly forget: (owner: string, threadId: string) => void;
  /**
   * Takes no more runs. Resolves when the runs under way have ended. After `ms` it hands them off: another worker takes them
   * over at once.
   */
  readonly drain: (ms: number) => Promise<void>;
}

interface ReservedRun extends ThreadKey {
  readonly runId: string;
}

/** A slot, and what the record claims with. Call exactly one of `run` and `release`. */
interface Reservation {
  readonly intent: ClaimIntent;
  /** `replicas`: those that the run was claimed with. */
  readonly run: (claimed: ClaimedRun, replicas: Replicas) => void;
  readonly release: () => void;
}

/** The longest pause after the queue could not be read, in milliseconds. */
const retakeMs = 500;

export function createWorker(options: WorkerOptions): Worker {
  const { workerId, queue, log, clock, threads } = options;
  const slots = new Slots(options.concurrency);
  const cache = createThreadCache(options.threadCacheBytes);
  const active = createActiveRuns();
  const contexts = createByteBudget(options.contextBytes);
  const draining = new AbortController();
  const { signal } = draining;
  const { list, revision } = options.agents;
  const held = { agents: list.map(({ name }) => name), ...(revision === undefined ? {} : { revision }) };
  const ends = createRunEnds(options);
  const requeue = createRequeue({ ...options, active, ends, signal });
  const driveClaimed = createDriveClaimed({ ...options, now: clock.now, active, cache, contexts, ends, requeue });
  const { onDriven } = options;
  const drive: DriveClaimed = onDriven
    ? (run) => driveClaimed(run).finally(() => onDriven(run.owner, run.claimed.runId))
    : driveClaimed;
  const claimAndDrive = createClaimAndDrive({
    ...options,
    ...{
      claimRun: (request, call) => clock.read(() => threads.claimRun(request, call)),
      active,
      cache,
      ends,
      requeue,
      drive,
      signal,
    },
  });

  /** Claims and drives a run in a slot that is taken already, and frees the slot. Resolves with what `claimAndDrive` does; never rejects. */
  const handle = async (taken: TakenRun, notLast: boolean): Promise<boolean> => {
    const { runId, threadId, trace = {} } = taken.run;
    try {
      const context = { ...fromContextHeaders(trace), runId, threadId };
      return await requestContexts.run(context, () => claimAndDrive(taken, notLast));
    } catch (error) {
      log.error({ err: error, runId }, 'a run could not be claimed or driven');
      return false;
    } finally {
      slots.release();
    }
  };

  const driveAlone = createLastClaims(async (run) => {
    // The next worker finds the run on record.
    if (signal.aborted) return;
    // The last free slot may belong to the loop that waits for the queue.
    slots.takeExtra();
    await handle({ run, settle: () => undefined }, false);
  });

  const takeRun = async (): Promise<TakenRun> => {
    // A run that is taken without room for its context would wait here, where no other replica can take it.
    (await contexts.take(1, signal))[Symbol.dispose]();
    return queue.take(held, signal);
  };
  const takeRetry: RetryOptions = {
    ...{ firstMs: retakeMs, maxMs: retakeMs, signal },
    mayHelp: () => true,
    onRetry: (error) => {
      log.error({ err: error }, 'no run could be taken from the queue; it is tried again');
    },
  };

  const consume = async (): Promise<void> => {
    for (;;) {
      await slots.take();
      // It fails only when the worker drains.
      const taken = await retry(takeRun, takeRetry).catch(() => undefined);
      if (!taken) {
        slots.release();
        return;
      }
      void handle(taken, true).then((isLast) => {
        if (isLast) driveAlone(taken.run);
      });
    }
  };
  void consume();

  return {
    id: workerId,

    reserve: ({ owner, threadId, runId }) => {
      if (contexts.isFull() || signal.aborted || !slots.tryTake()) return undefined;
      const answered = active.expectClaim(runId);
      const before = options.eventLog.moment();
      const cached = cache.get(owner, threadId);
      return {
        intent: intentOf(workerId, options.agents, cached),
        run: (claimed, replicas) => {
          void drive({ owner, claimed, cached, replicas, before }).finally(() => slots.release());
          answered();
        },
        release: () => {
          answered();
          slots.release();
        },
      };
    },

    stop: active.stop,
    drives: active.drives,
    reportsOf: active.reportsOf,
    has: active.has,
    driven: () => countDriven(held, active.all()),
    forget: cache.forget,

    drain: async (ms) => {
      draining.abort(new Error('the worker drains'));
      const allEnded = slots.allFree();
      // It leaves the queue first, so that no run that it hands off comes back to it.
      const [isIdle] = await Promise.all([settledWithin(allEnded, ms), queue.leave()]);
      if (isIdle) await options.lease.release().catch(() => undefined);
      else await handOff({ ...options, active }, allEnded);
    },
  };
}

/** The bounded number of runs that a worker drives at once. */
class Slots {
  readonly #bound: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #idle = Promise.withResolvers<undefined>();
  #isAwaited = false;

  constructor(bound: number) {
    this.#bound = bound;
    this.#free = bound;
  }

  /** Takes a slot, as soon as one is free. */
  async take(): Promise<void> {
    while (!this.tryTake()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Takes a slot, if one is free. */
  tryTake(): boolean {
    if (this.#free <= 0) return false;
    this.#free--;
    return true;
  }

  /** Takes a slot beyond the bound. */
  takeExtra(): void {
    this.#free--;
  }

  /** Frees a slot that was taken in any of these ways. */
  release(): void {
    this.#free++;
    this.#waiting.shift()?.();
    this.#noteIdle();
  }

  /** Resolves when no slot is taken. */
  async allFree(): Promise<void> {
    this.#isAwaited = true;
    this.#noteIdle();
    return this.#idle.promise;
  }

  #noteIdle(): void {
    if (this.#isAwaited && this.#free === this.#bound) this.#idle.resolve(undefined);
  }
}

interface HandOffOptions {
  readonly threads: RunCalls;
  readonly queue: RunQueue;
  readonly log: Log;
  readonly lease: Pick<Lease, 'release'>;
  readonly active: ActiveRuns;
}

/** How long the record may take to release a run, in milliseconds. */
const releaseMs = 2000;
/** How long appends and commits that were sent may take to arrive, in milliseconds. */
const arriveMs = 300;

/**
 * Stops the runs under way and puts them into the queue with the epochs of this worker's claims, so that other workers take
 * them over at once. `allEnded` resolves when none is under way.
 */
async function handOff(options: HandOffOptions, allEnded: Promise<void>): Promise<void> {
  const { lease, active, log } = options;
  const left = active.all();
  await lease.release().catch((error: unknown) => {
    log.warn({ err: error }, 'the lease could not be released; it expires');
  });
  active.stopAll(new Error('the worker drains'));
  // The other worker must find what this one has sent already.
  await settledWithin(allEnded, arriveMs);
  await Promise.all(left.map(async (run) => release(options, run)));
  log.warn({ runs: left.length }, 'runs under way were handed off');
}

/** Releases one run on record, so that its claim does not count. A run that has ended meanwhile needs no release. */
async function release({ threads, queue }: HandOffOptions, { takeoverEpoch: epoch, ...run }: ActiveRun): Promise<void> {
  const { owner, threadId, runId } = run;
  try {
    await threads.releaseRun({ owner, threadId, runId, epoch }, within(releaseMs));
    await queue.enqueue(run);
  } catch (error) {
    if (!isServiceError(error, 'Stale')) await queue.enqueue({ ...run, takeoverEpoch: epoch });
  }
}
