import type { Values } from '@agent-workflow/kit/env';
import { newId } from '@agent-workflow/kit/ids';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import type { executionSettings } from './config.ts';
import { finishDeletions } from './delete-thread.ts';
import type { CompiledGraph } from './engine/graph.ts';
import type { RunLog, RunQueue } from './port.ts';
import { recoverRuns } from './recover.ts';
import { createExecution } from './runs.ts';
import { createWorker } from './worker.ts';

export interface OpenExecutionOptions {
  readonly graph: CompiledGraph | undefined;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly log: RunLog;
  readonly logger: Log;
  readonly values: Values<typeof executionSettings>;
}

/** An execution service that runs: disposing of it closes its queue and log. */
export interface OpenExecution extends AsyncDisposable {
  readonly execution: Execution;
  /** Takes no more runs and waits for those under way, at most `ms`. */
  readonly drain: (ms: number) => Promise<void>;
}

const sweepMs = 60_000;
const logsAtOnce = 200;
const bytesPerMiB = 1024 * 1024;

/** Puts the runs of a dead process in order, then starts to drive runs. */
export async function openExecution(options: OpenExecutionOptions): Promise<OpenExecution> {
  const { graph, threads, memory, queue, log, logger, values } = options;
  const recovered = await recoverRuns({ threads, queue });
  if (recovered > 0) logger.info({ runs: recovered }, 'runs of the process before go on');
  const worker =
    graph &&
    createWorker({
      workerId: newId(),
      graph,
      threads,
      memory,
      queue,
      log,
      logger,
      concurrency: values.RUN_CONCURRENCY,
      hotBytes: values.HOT_STATE_MB * bytesPerMiB,
    });
  const sweep = async (): Promise<void> => {
    await finishDeletions({ threads, memory, log, worker, graph });
    const kept = Date.now() - values.EVENTS_RETENTION * 1000;
    while ((await log.expire(kept, logsAtOnce)) === logsAtOnce);
  };
  const sweeper = every(sweepMs, sweep, (error) => {
    logger.error({ err: error }, 'the sweep failed; the next one tries again');
  });
  await sweep().catch((error: unknown) => {
    logger.error({ err: error }, 'the first sweep failed; the next one tries again');
  });

  return {
    execution: createExecution({ graph, threads, memory, queue, log, worker, backlog: values.RUN_BACKLOG }),
    drain: async (ms) => {
      await worker?.drain(ms);
    },
    [Symbol.asyncDispose]: async () => {
      await sweeper[Symbol.asyncDispose]();
      await queue[Symbol.asyncDispose]();
      await log[Symbol.asyncDispose]();
    },
  };
}
