import { inFlightBytes } from '@agent-workflow/runtime/budget';
import type { Values } from '@agent-workflow/kit/env';
import { healthy, type Health } from '@agent-workflow/runtime/health';
import { newId } from '@agent-workflow/kit/ids';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import type { executionSettings } from './config.ts';
import { deleteIdle, finishDeletions, type OnDeletionFailure } from './api/delete-thread.ts';
import { openEndWatch } from './api/end-watch.ts';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { expireLogs } from './worker/expire-logs.ts';
import { holdLease } from './worker/lease.ts';
import type { RunControl, RunLog, RunQueue, WorkerLeases } from './ports/port.ts';
import { createExecution } from './api/runs.ts';
import { createSweep } from './worker/sweep.ts';
import { unwatched, type Watchdog } from './watchdog/watchdog.ts';
import { createWorker, type Worker, type WorkerOptions } from './worker/worker.ts';

export interface OpenExecutionOptions {
  readonly graph: CompiledGraph | undefined;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  readonly log: RunLog;
  readonly control: RunControl;
  /** Whether runs are driven here, beside being accepted and followed; yes when absent. */
  readonly drives?: boolean;
  readonly logger: Log;
  readonly values: Values<typeof executionSettings>;
  /**
   * How often runs are looked for that nobody drives, in milliseconds. Beside other workers it is what a death is noticed by,
   * together with the lease; alone, only what this process itself has lost can be found.
   */
  readonly sweepMs: number;
  /** What idle threads and old events are told by, in milliseconds since 1970. */
  readonly now?: () => number;
  /** Absent: nothing is watched. */
  readonly watchdog?: Watchdog;
  /** What the other parts of the process report; absent: none of them fails. */
  readonly health?: Pick<Health, 'degraded'>;
  /** Hears of each run that is claimed here. */
  readonly onClaimed?: WorkerOptions['onClaimed'];
}

/** An execution service that runs: disposing of it closes its queue, leases, log and control. */
export interface OpenExecution extends AsyncDisposable {
  readonly execution: Execution;
  /** Takes no more runs and waits for those under way, at most `ms`; what is left then is handed over. */
  readonly drain: (ms: number) => Promise<void>;
}

/** How often runs are put into the queue again that wait in it, if it has not lost them, in milliseconds. */
const waitingMs = 30_000;
const tidyMs = 60_000;
const bytesPerMiB = 1024 * 1024;

/** Puts the runs of dead workers in order, then starts to drive runs. */
export async function openExecution(options: OpenExecutionOptions): Promise<OpenExecution> {
  const { graph, threads, memory, queue, leases, log, control, logger, values } = options;
  const { drives = true, now = Date.now, watchdog = unwatched, health = healthy } = options;
  await using opening = new AsyncDisposableStack();
  opening.use(log);
  opening.use(queue);
  opening.use(leases);
  opening.use(control);
  const failed =
    (what: string) =>
    (error: unknown): void => {
      logger.error({ err: error }, `${what} failed; the next time tries again`);
    };
  const sweepRuns = createSweep({ threads, queue, leases, waitingMs });
  const sweep = async (worker?: Worker): Promise<void> => {
    const put = await sweepRuns(worker);
    if (put > 0) logger.info({ runs: put }, 'runs that nobody drove go on');
  };

  const workerId = newId();
  const lease =
    graph && drives ? opening.use(await holdLease({ leases, workerId, leaseMs: values.LEASE_MS, logger })) : undefined;
  await sweep().catch(failed('the first sweep'));
  const worker =
    graph &&
    lease &&
    createWorker({
      workerId,
      graph,
      threads,
      memory,
      queue,
      log,
      logger,
      watchdog,
      lease,
      concurrency: values.RUN_CONCURRENCY,
      contextBytes: inFlightBytes(values),
      hotBytes: Math.min(values.HOT_STATE_MB * bytesPerMiB, inFlightBytes(values)),
      onClaimed: options.onClaimed,
    });
  if (worker) opening.use(control.onStop(worker.stop));
  opening.use(every(options.sweepMs, async () => sweep(worker), failed('the sweep')));

  const parts = { threads, memory, log, control, worker, graph };
  const onDeletionFailure: OnDeletionFailure = (error, { threadId }) => {
    logger.error({ err: error, threadId }, 'a thread could not be deleted; it is tried again');
  };
  const tidy = async (): Promise<void> => {
    await finishDeletions(parts, onDeletionFailure).catch(failed('finishing deletions'));
    await expireLogs({ log, threads, time: now() - values.EVENTS_RETENTION * 1000 });
  };
  await tidy().catch(failed('tidying up'));
  opening.use(every(tidyMs, tidy, failed('tidying up')));
  if (values.THREAD_TTL > 0) {
    opening.use(
      repeatNow(
        tidyMs,
        async (signal) =>
          deleteIdle(parts, { time: now() - values.THREAD_TTL * 1000, signal, onFailure: onDeletionFailure }),
        failed('deleting idle threads'),
      ),
    );
  }
  const ends = opening.use(openEndWatch({ ...parts, firstMs: values.LEASE_MS, logger }));

  const opened = opening.move();
  return {
    execution: createExecution({ ...parts, queue, logger, ends, health, backlog: values.RUN_BACKLOG }),
    drain: async (ms) => {
      await worker?.drain(ms);
    },
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}

/** Does work at once and then every `ms`. Nobody waits for the first time, which may take long; disposal has it break off. */
function repeatNow(
  ms: number,
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): AsyncDisposable {
  const closing = new AbortController();
  let first = true;
  const begun = work(closing.signal)
    .catch(onError)
    .finally(() => {
      first = false;
    });
  const repeated = every(ms, async () => (first ? undefined : work(closing.signal)), onError);
  return {
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.all([begun, repeated[Symbol.asyncDispose]()]);
    },
  };
}
