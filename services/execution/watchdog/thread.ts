import { write } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { Session, type Debugger } from 'node:inspector';
import { toLogText } from '@agent-workflow/kit/log-text';
import { toFields } from '@agent-workflow/kit/request-context';
import { readBoard, type BoardReader } from './board.ts';
import { originSymbol, type CodeOrigin } from './origin.ts';

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

/** What the main thread is doing. */
interface Answer extends CodeOrigin {
  /** Its innermost calls, as `name (file:line)`. */
  readonly stack: readonly string[];
}

const originExpression = `globalThis[Symbol.for('${originSymbol}')]()`;

/** How long the main thread has to answer, in milliseconds. It does not answer from native code. */
const answerMs = 5000;
const namedCalls = 5;

/**
 * Attaches to the main thread as a debugger, and reads what it is doing. The thread is paused wherever in JavaScript it is, and
 * stays paused. Resolves with `undefined` when it is in native code, for example a synchronous hash, and cannot be paused.
 */
async function inspectMainThread(): Promise<Answer | undefined> {
  const session = new Session();
  session.connectToMainThread();
  const urls = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url));
  return new Promise((resolve, reject) => {
    setTimeout(resolve, answerMs, undefined);
    session.once('Debugger.paused', ({ params: { callFrames } }) => {
      const stack = callFrames.slice(0, namedCalls).map((frame) => toText(frame, urls));
      originIn(session, callFrames).then((origin) => resolve({ ...origin, stack }), reject);
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  });
}

/** Evaluates in each call, from the innermost outwards, until one has the function: code in a `vm` context has another global object. */
async function originIn(session: Session, frames: readonly Debugger.CallFrame[]): Promise<CodeOrigin> {
  for (const { callFrameId } of frames) {
    const value = await evaluate(session, callFrameId);
    if (typeof value === 'string') return JSON.parse(value) as CodeOrigin;
  }
  return {};
}

const evaluate = async (session: Session, callFrameId: string): Promise<unknown> =>
  new Promise((resolve) => {
    const request = { callFrameId, expression: originExpression, returnByValue: true };
    session.post('Debugger.evaluateOnCallFrame', request, (_error, reply) => {
      resolve((reply as Debugger.EvaluateOnCallFrameReturnType | undefined)?.result.value);
    });
  });

const toText = ({ functionName, location }: Debugger.CallFrame, urls: ReadonlyMap<string, string>): string =>
  `${functionName || 'anonymous'} (${urls.get(location.scriptId) ?? ''}:${String(location.lineNumber + 1)})`;
