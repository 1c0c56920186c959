import { url as debuggerUrl } from 'node:inspector';
import { getCompileCacheDir } from 'node:module';
import { isMainThread, Worker } from 'node:worker_threads';
import type { Log } from '@agent-workflow/kit/log';
import { createBoard, type Board } from './board.ts';
import { exposeCodeOrigin, runCode } from './code.ts';
import { catchStrays } from './strays.ts';
import type { WatchdogOrders } from './thread.ts';

/** Looks after the process that agents' code shares. */
export interface Watchdog extends AsyncDisposable {
  /** Does the work of one run, so that whoever blocks the process is known. `onStep` is to be told the nodes of each step. */
  readonly watch: <T>(run: WatchedRun, work: (onStep: (nodes: readonly string[]) => void) => Promise<T>) => Promise<T>;
}

export interface WatchedRun {
  readonly runId: string;
  readonly threadId: string;
}

export interface WatchdogOptions {
  /** How long the event loop may stand still before the process is ended, in milliseconds; 0: as long as it likes. */
  readonly limitMs: number;
  /** Runs at once that can be named. */
  readonly runs: number;
  readonly logger: Log;
}

export type OpenWatchdog = (options: WatchdogOptions) => Watchdog;

/** Watches nothing: for tests and tools that share their process with others. */
export const unwatched: Watchdog = {
  watch: async (_run, work) => work(() => undefined),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/**
 * Watches over the main thread of this process; from any other thread it watches nothing. One that stands still for longer
 * than the limit is ended with SIGKILL, after a line in the log that names run and node; what agents' code throws where nobody
 * can catch it is logged, and the process goes on. The thread that watches is made with the first run.
 */
export const openWatchdog: OpenWatchdog = ({ limitMs, runs, logger }) => {
  if (!isMainThread) return unwatched;
  const strays = catchStrays(logger);
  let thread: WatchingThread | undefined;
  return {
    watch: async ({ runId, threadId }, work) => {
      if (limitMs > 0) thread ??= startThread(limitMs, createBoard(runs), logger);
      const line = thread?.board.take(runId);
      try {
        return await runCode({ runId, threadId }, async () => work((nodes) => line?.write(nodes)));
      } finally {
        line?.free();
      }
    },
    [Symbol.asyncDispose]: async () => {
      strays[Symbol.dispose]();
      await thread?.end();
    },
  };
};

interface WatchingThread {
  readonly board: Board;
  readonly end: () => Promise<void>;
}

function startThread(limitMs: number, board: Board, logger: Log): WatchingThread {
  exposeCodeOrigin();
  const orders: WatchdogOrders = {
    memory: board.memory,
    limitMs,
    tickMs: tickMs(limitMs),
    lineFields: logger.bindings(),
    isSilent: !logger.isLevelEnabled('fatal'),
  };
  const cache = getCompileCacheDir();
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: orders,
    execArgv: [],
    // A thread has no compile cache unless told, and without one it takes 10 MiB more to strip types.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
  });
  worker.unref();
  worker.on('error', (error) => {
    logger.error({ err: error }, 'the watchdog has ended: a node that blocks the process is seen by nobody');
  });
  const tick = (): void => board.turn(debuggerUrl() !== undefined);
  tick();
  const ticks = setInterval(tick, orders.tickMs);
  ticks.unref();
  return {
    board,
    end: async () => {
      clearInterval(ticks);
      await worker.terminate();
    },
  };
}

/** How often the loop says that it turns, and the thread looks: often enough to be exact to an eighth. */
const tickMs = (limitMs: number): number => Math.min(1000, Math.max(5, limitMs / 8));
