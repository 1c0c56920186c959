import { write } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { toFields } from '@agent-workflow/kit/request-context';
import { askMainThread, type Answer } from './ask.ts';
import { readBoard, type BoardReader } from './board.ts';

/** What the thread of `watchdog.ts` is made with. */
export interface WatchdogOrders {
  readonly memory: SharedArrayBuffer;
  readonly limitMs: number;
  readonly tickMs: number;
  /** What stands on every line of the process's log. */
  readonly lineFields: Readonly<Record<string, unknown>>;
  /** Whether the log wants no line, however bad. */
  readonly isSilent: boolean;
}

/** How long whatever goes before the end may take, in milliseconds: asking, and writing to a log that nobody reads. */
const lastWordsMs = 8000;
/** Runs named in the line when it is not known which of them it was. */
const namedRuns = 10;

watch(workerData as WatchdogOrders);

function watch(orders: WatchdogOrders): void {
  const board = readBoard(orders.memory);
  const stillMs = createStillness(board, orders.tickMs);
  const timer = setInterval(() => {
    const still = stillMs();
    if (still < orders.limitMs) return;
    clearInterval(timer);
    setTimeout(end, lastWordsMs);
    void sayWhy(orders, board, still).finally(end);
  }, orders.tickMs);
}

/**
 * Gives how long the loop has stood still, at each look. A look that comes late counts as two at most: then this thread did not
 * run either, because the machine slept or the process was held.
 */
function createStillness(board: BoardReader, tickMs: number): () => number {
  let turns = board.turns();
  let looked = performance.now();
  let still = 0;
  return () => {
    const now = performance.now();
    const passed = Math.min(now - looked, 2 * tickMs);
    looked = now;
    const seen = board.turns();
    still = seen === turns && !board.isDebugged() ? still + passed : 0;
    turns = seen;
    return still;
  };
}

/** The one way to end a process whose main thread does nothing any more. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function sayWhy(orders: WatchdogOrders, board: BoardReader, stillMs: number): Promise<void> {
  const answer = await askMainThread().catch(() => undefined);
  if (orders.isSilent) return;
  const time = new Date().toISOString();
  const blockedMs = Math.round(stillMs);
  const line = { level: 60, time, ...orders.lineFields, blockedMs, ...blame(answer, board) };
  await writeLine(`${JSON.stringify(toFields(line))}\n`);
}

/** Who it was. Without an answer it is one of those that the board names. */
function blame(answer: Answer | undefined, board: BoardReader): Record<string, unknown> {
  const entries = board.entries();
  const runId = answer?.runId ?? (!answer && entries.length === 1 ? entries[0]?.runId : undefined);
  if (runId === undefined) {
    const msg = `${blocked}; ${ends}`;
    return answer ? { ...answer, msg } : { oneOf: entries.slice(0, namedRuns).map(toFields), msg };
  }
  const node = answer?.node ?? entries.find((entry) => entry.runId === runId)?.nodes;
  return { runId, ...answer, node, msg: `${blocked} by node "${node ?? ''}" of run "${runId}"; ${ends}` };
}

const blocked = 'the event loop was blocked';
const ends = 'the process ends';

/** Writes past the main thread, which cannot, to where its log goes. A pipe that is full is tried again. */
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
