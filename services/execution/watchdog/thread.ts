import { write } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { toLogText } from '@agent-workflow/kit/log-text';
import { toFields } from '@agent-workflow/kit/request-context';
import { inspectMainThread, type Answer } from './inspect.ts';
import { readBoard, type BoardReader } from './board.ts';

/** The input of the thread that `watchdog.ts` starts. */
export interface WatchdogOrders {
  readonly memory: SharedArrayBuffer;
  readonly limitMs: number;
  readonly tickMs: number;
  /** Fields of every line of the process's log. */
  readonly lineFields: Readonly<Record<string, unknown>>;
  /** Whether the lines of the log are for people, else they are JSON. */
  readonly isText: boolean;
  /** Whether the log is silent at every level. */
  readonly isSilent: boolean;
}

/** How long inspecting and logging may take before the process ends, in milliseconds, also when nothing reads the log. */
const lastLineMs = 8000;
/** Runs named in the line when it is not known which of them blocks. */
const namedRuns = 10;

watch(workerData as WatchdogOrders);

function watch(orders: WatchdogOrders): void {
  const board = readBoard(orders.memory);
  const blockedMs = createBlockTimer(board, orders.tickMs);
  const timer = setInterval(() => {
    const blocked = blockedMs();
    if (blocked < orders.limitMs) return;
    clearInterval(timer);
    setTimeout(endProcess, lastLineMs);
    void logBlock(orders, board, blocked).finally(endProcess);
  }, orders.tickMs);
}

/**
 * Returns at each call how long the event loop has been blocked. A late call counts as two intervals at most: then this thread did
 * not run either, because the machine slept or the process was suspended.
 */
function createBlockTimer(board: BoardReader, tickMs: number): () => number {
  let turns = board.turns();
  let checkedAt = performance.now();
  let blocked = 0;
  return () => {
    const now = performance.now();
    const passed = Math.min(now - checkedAt, 2 * tickMs);
    checkedAt = now;
    const seen = board.turns();
    blocked = seen === turns && !board.isDebugged() ? blocked + passed : 0;
    turns = seen;
    return blocked;
  };
}

/** SIGKILL is the only signal that ends a process whose main thread is blocked. */
function endProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function logBlock(orders: WatchdogOrders, board: BoardReader, blocked: number): Promise<void> {
  const answer = await inspectMainThread().catch(() => undefined);
  if (orders.isSilent) return;
  const time = new Date().toISOString();
  const blockedMs = Math.round(blocked);
  const line = { level: 60, time, ...orders.lineFields, blockedMs, ...blame(answer, board) };
  const json = JSON.stringify(toFields(line));
  await writeLine(`${orders.isText ? toLogText(json) : json}\n`);
}

/** The run that blocks. Without an answer it is one of the runs on the board. */
function blame(answer: Answer | undefined, board: BoardReader): Record<string, unknown> {
  const entries = board.entries();
  const runId = answer?.runId ?? (!answer && entries.length === 1 ? entries[0]?.runId : undefined);
  if (runId === undefined) {
    const msg = `${blockedText}; ${ends}`;
    return answer ? { ...answer, msg } : { oneOf: entries.slice(0, namedRuns).map(toFields), msg };
  }
  const node = answer?.node ?? entries.find((entry) => entry.runId === runId)?.nodes;
  return { runId, ...answer, node, msg: `${blockedText} by node "${node ?? ''}" of run "${runId}"; ${ends}` };
}

const blockedText = 'the event loop was blocked';
const ends = 'the process ends';

/** Writes to standard output without the main thread. A full pipe is tried again. */
async function writeLine(line: string): Promise<void> {
  return new Promise((resolve) => {
    const attempt = (): void =>
      write(1, line, (error) => {
        if (error?.code === 'EAGAIN') setTimeout(attempt, 10);
        else resolve();
      });
    attempt();
  });
}
