import { url as debuggerUrl } from 'node:inspector';
import { getCompileCacheDir } from 'node:module';
import { isMainThread, Worker } from 'node:worker_threads';
import type { Log } from '@agent-workflow/kit/log';
import { messageOf } from '@agent-workflow/graph/state/failure';
import { createBoard, type Board } from './board.ts';
import { codeOrigin, codeOrigins, exposeCodeOrigin } from './code.ts';
import type { WatchdogOrders } from './thread.ts';
import type { CodeOrigin } from './origin.ts';

/** Watches the process, which agents' code shares. */
export interface Watchdog extends AsyncDisposable {
  /** Does the work of one run, so that a block can be attributed to it. Call `onStep` with the nodes of each step. */
  readonly watch: <T>(run: WatchedRun, work: (onStep: (nodes: readonly string[]) => void) => Promise<T>) => Promise<T>;
  /** To be called before code of agents runs for no run, as a reducer does: a block is found from here on. */
  readonly begin: () => void;
}

interface WatchedRun {
  readonly runId: string;
  readonly threadId: string;
}

interface WatchdogOptions {
  /** How long the event loop may be blocked before the process is ended, in milliseconds; 0 is without a bound. */
  readonly limitMs: number;
  /** Runs at once that a log line can name. */
  readonly runs: number;
  readonly log: Log;
  /** Whether the lines of the log are for people; absent: they are JSON. */
  readonly isText?: boolean;
}

export type OpenWatchdog = (options: WatchdogOptions) => Watchdog;

/** Watches nothing: for tests and tools that share their process with other code. */
export const unwatched: Watchdog = {
  watch: async (_run, work) => work(() => undefined),
  begin: () => undefined,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/**
 * Watches the main thread of this process; opened in another thread it watches nothing. A process whose main thread is blocked for
 * longer than the limit is ended with SIGKILL, after a log line that names run and node. Uncaught errors of agents' code are
 * logged, and the process continues. The watching thread starts with the first code of agents.
 */
export const openWatchdog: OpenWatchdog = ({ limitMs, runs, log, isText = false }) => {
  if (!isMainThread) return unwatched;
  const uncaught = catchUncaughtErrors((error, what) => {
    log.error(error, what);
  });
  let thread: WatchingThread | undefined;
  const begin = (): void => {
    if (limitMs > 0) thread ??= startThread({ limitMs, board: createBoard(runs), log, isText });
  };
  return {
    begin,
    watch: async ({ runId, threadId }, work) => {
      begin();
      const line = thread?.board.take(runId);
      try {
        return await codeOrigins.run({ runId, threadId }, () => work((nodes) => line?.write(nodes)));
      } finally {
        line?.free();
      }
    },
    [Symbol.asyncDispose]: async () => {
      uncaught[Symbol.dispose]();
      await thread?.end();
    },
  };
};

interface WatchingThread {
  readonly board: Board;
  readonly end: () => Promise<void>;
}

interface WatchingThreadOptions {
  readonly limitMs: number;
  readonly board: Board;
  readonly log: Log;
  readonly isText: boolean;
}

function startThread({ limitMs, board, log, isText }: WatchingThreadOptions): WatchingThread {
  exposeCodeOrigin();
  const orders: WatchdogOrders = {
    memory: board.memory,
    limitMs,
    tickMs: tickMs(limitMs),
    lineFields: log.bindings(),
    isText,
    isSilent: !log.isLevelEnabled('fatal'),
  };
  const cache = getCompileCacheDir();
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: orders,
    execArgv: [],
    // A thread has no compile cache unless it is named here. Without one, stripping types takes 10 MiB more.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
  });
  worker.unref();
  worker.on('error', (error) => {
    log.error({ err: error }, 'the watchdog thread has ended: a node that blocks the process is not found any more');
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

/** How often the loop counts its turns, and the thread reads the count: often enough to be exact to an eighth of the limit. */
const tickMs = (limitMs: number): number => Math.min(1000, Math.max(5, limitMs / 8));

/** What an error is reported with: `err`, and the run and node of its code where they are known. */
interface Reported extends CodeOrigin {
  readonly err: { readonly message: string; readonly stack?: string };
}

/**
 * Handles uncaught errors: those of timers, listeners and promises that code left behind. An error of an agent's code is reported
 * with its run and node and ends nothing, because the other runs of the process are not affected. A rejected promise of unknown
 * origin is reported, too, because no code awaits it. Any other error is thrown again and ends the process, whose own state may be
 * damaged.
 */
export function catchUncaughtErrors(report: (error: Reported, what: string) => void): Disposable {
  const onRejection = (error: unknown): void => {
    report({ err: toLogged(error), ...codeOrigin() }, 'a promise that no code awaits was rejected');
  };
  const onException = (error: unknown): void => {
    const origin = codeOrigin();
    if (!origin) throw error;
    report({ err: toLogged(error), ...origin }, 'code of the agent threw an error that nothing catches');
  };
  process.on('unhandledRejection', onRejection);
  process.on('uncaughtException', onException);
  return {
    [Symbol.dispose]: () => {
      process.off('unhandledRejection', onRejection);
      process.off('uncaughtException', onException);
    },
  };
}

/** As much of the error as a log line may hold. The thrown value may be anything: this must not throw itself. */
function toLogged(error: unknown): Reported['err'] {
  const message = messageOf(error);
  try {
    return error instanceof Error ? { message, stack: String(error.stack).slice(0, stackCharacters) } : { message };
  } catch {
    return { message };
  }
}

const stackCharacters = 4000;
