import { isServiceError, stale, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { createShortLivedMap, createShortLivedSet } from '@agent-workflow/kit/short-lived';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { isTerminal, type AppendOptions } from '../../ports/log.ts';
import type { StoredLogs } from './stored.ts';

/** The live end of one run's log, while it is written or followed. */
export interface Tail {
  /** Known once the run has an event. */
  scope: RunScope | undefined;
  last: number;
  /** When the last event was appended, or when the logs were opened. */
  lastAt: number;
  ended: boolean;
  /** The last event, written or not, unless it is so large that it is read from the file when it is needed. */
  end: RunEvent | undefined;
  /** Whether the last event was appended, written or not: no event may follow it. */
  closed: boolean;
  /** Set when its events could not be written. */
  failure: ServiceError | undefined;
  /** The newest events, without a gap up to `last`. */
  recent: RunEvent[];
  /** Their bytes. */
  recentBytes: number;
  /** Appended and not part of a write yet. */
  pending: RunEvent[];
  /** Their bytes. */
  pendingBytes: number;
  /** The events that are being written; they stay until the file has them. */
  batch: Batch | undefined;
  /** Whether a write is under way, or waits to be tried again. */
  scheduled: boolean;
  /** When the waiting write was first refused. */
  refusedAt: number | undefined;
  /** Settles when the pending events are written. */
  stored: PromiseWithResolvers<void> | undefined;
  /** Followers, and those that wait for the end alone. */
  listeners: number;
  /** Listeners that read every event. */
  followers: number;
  writing: boolean;
  readonly waiting: Set<() => void>;
}

/** Events of one run that are written together. */
interface Batch extends EventBatch {
  readonly bytes: number;
  /** Whether the last of them ends the log. */
  readonly isLast: boolean;
  readonly stored: Tail['stored'];
}

/** How long events without a follower wait to be written together, in milliseconds: so long, and up to twice that. */
const holdMs = 10;
/** The same where no caller waits for them either: most short runs have ended by then, and their log is one row. */
const longHoldMs = 125;
/** Bound of the events of one run that wait, in bytes. */
const maxHeldBytes = 64 * 1024;
/** Newest events of a live run that are kept in memory; a follower further behind reads the file. */
const recentEvents = 1024;
/** Bound of these events in bytes. They stay in memory until the slowest follower has read them. */
const maxRecentBytes = 512 * 1024;
/** Milliseconds until a write that the file refused is tried again, the first time and at most. */
const firstPauseMs = 250;
const longestPauseMs = 5000;
/** Bound of all events that wait for the file, in bytes. A run that exceeds it is published from the record at its end. */
const maxWaitingBytes = 32 * 1024 * 1024;

interface WriterOptions {
  readonly write: Sqlite['write'];
  readonly put: StoredLogs['put'];
  /** How long a run's events wait for the file, in milliseconds. */
  readonly waitMs: number;
  /** Called when a log without listeners has nothing to write any more. */
  readonly onWritten: (runId: string, tail: Tail) => void;
  /** Called when a log has ended that is not compressed yet. */
  readonly onPlainEnd: () => void;
  /** Called when a log has ended because its events could not be written. */
  readonly onAbandoned: (runId: string, tail: Tail) => void;
}

/** Events that continue the log of `scope` after number `after`. */
interface Added extends EventBatch {
  readonly after: number;
}

/** Writes the events of all tails. Disposal writes what waits, once. */
interface Writer extends AsyncDisposable {
  /** Adds events to a tail; resolves when they are written. @throws Stale when its last number is not `after`. */
  readonly append: (tail: Tail, added: Added, options?: AppendOptions) => Promise<void>;
  /** Writes at once what a tail holds. */
  readonly writeSoon: (runId: string, tail: Tail) => void;
  /** False from a refused write on that is to be tried again, until the file accepts one. */
  readonly canWrite: () => boolean;
}

/**
 * Events of one tick share a transaction, and those of one run a row. Writes that the file refuses for now are tried again, each
 * run's events by themselves.
 */
export function createWriter(options: WriterOptions): Writer {
  const { put, waitMs, onWritten, onPlainEnd, onAbandoned } = options;
  const held = createHeld(holdMs, (runId, tail) => writeSoon(runId, tail));
  const heldLonger = createHeld(longHoldMs, (runId, tail) => writeSoon(runId, tail));
  /** Live runs whose events the file has refused, in the order in which they are tried again. */
  let refused = new Map<string, Tail>();
  let retry: NodeJS.Timeout | undefined;
  let pauseMs = firstPauseMs;
  let accepts = true;
  let waitingBytes = 0;
  let closing = false;
  const underWay = createShortLivedSet<Promise<boolean>>();

  const publish = (runId: string, tail: Tail): void => {
    const { events = [], bytes = 0, isLast = false, stored } = tail.batch ?? {};
    tail.batch = undefined;
    tail.scheduled = false;
    tail.refusedAt = undefined;
    waitingBytes -= bytes;
    remember(tail, events, bytes);
    if (isLast) tail.ended = true;
    tail.writing = tail.pending.length > 0;
    wake(tail);
    stored?.resolve();
    if (tail.writing) writeSoon(runId, tail);
    else if (tail.listeners === 0) onWritten(runId, tail);
  };

  /** Ends a log whose events could not be written, for its followers and its worker. No follower has seen these events. */
  const abandon = (runId: string, tail: Tail, error: unknown): ServiceError => {
    const failure = unavailable('the event log cannot be written right now', error);
    tail.failure = failure;
    waitingBytes -= tail.pendingBytes + (tail.batch?.bytes ?? 0);
    onAbandoned(runId, tail);
    refused.delete(runId);
    // Nothing is tried again that could show when the file accepts writes.
    if (refused.size === 0) accepts = true;
    held.drop(runId);
    heldLonger.drop(runId);
    wake(tail);
    tail.batch?.stored?.reject(failure);
    tail.stored?.reject(failure);
    tail.batch = undefined;
    tail.pending = [];
    tail.pendingBytes = 0;
    return failure;
  };

  const tryAgainLater = (runId: string, tail: Tail, error: unknown): void => {
    tail.refusedAt ??= performance.now();
    const isOver = closing || performance.now() - tail.refusedAt > waitMs;
    if (isOver || !isServiceError(error, 'Unavailable')) {
      abandon(runId, tail, error);
      return;
    }
    refused.set(runId, tail);
    accepts = false;
    setRetry();
  };

  const setRetry = (): void => {
    retry ??= setTimeout(() => void tryAgain(), pauseMs);
  };

  /** Resolves with whether the file accepts writes. A write that it refuses for good does not mean that it refuses others. */
  const write = (runId: string, tail: Tail): Promise<boolean> => {
    const written = options
      .write(() => {
        const { scope, failure } = tail;
        if (failure || !scope) return false;
        tail.batch ??= takeBatch(tail, scope);
        return put(tail.batch, tail.batch.isLast);
      })
      .then(
        (isPlainEnd) => {
          accepts = true;
          if (!tail.failure) publish(runId, tail);
          if (isPlainEnd) onPlainEnd();
          return true;
        },
        (error: unknown) => {
          if (!tail.failure) tryAgainLater(runId, tail, error);
          return !isServiceError(error, 'Unavailable');
        },
      )
      .finally(() => underWay.delete(written));
    underWay.add(written);
    return written;
  };

  /** Tries the events of one run first, another one each time. When the file accepts them, those of the other runs follow. */
  const tryAgain = async (): Promise<void> => {
    retry = undefined;
    const [first] = refused;
    if (!first) return;
    refused.delete(first[0]);
    if (!(await write(...first))) {
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      // The events of this run may have waited too long; the others are still tried again.
      if (refused.size > 0) setRetry();
      return;
    }
    pauseMs = firstPauseMs;
    writeRefused();
  };

  const writeRefused = (): void => {
    const rest = refused;
    refused = new Map();
    for (const [runId, tail] of rest) void write(runId, tail);
  };

  const writeSoon = (runId: string, tail: Tail): void => {
    held.drop(runId);
    heldLonger.drop(runId);
    if (tail.pending.length === 0 || tail.scheduled) return;
    tail.scheduled = true;
    void write(runId, tail);
  };

  return {
    append: (tail, { scope, after, events }, { isAwaited = true } = {}) => {
      const { runId } = scope;
      if (tail.last !== after || tail.closed)
        throw stale(`the log of run "${runId}" has been continued by another worker`);
      const end = events.at(-1);
      tail.scope ??= scope;
      tail.last = end?.seq ?? after;
      tail.lastAt = Date.now();
      if (end && isTerminal(end)) {
        tail.closed = true;
        tail.end = kept(end);
        wake(tail);
      }
      tail.writing = true;
      tail.pending.push(...events);
      const bytes = bytesOf(events);
      tail.pendingBytes += bytes;
      waitingBytes += bytes;
      tail.stored ??= Promise.withResolvers();
      const { promise } = tail.stored;
      if (refused.size > 0 && waitingBytes > maxWaitingBytes) {
        abandon(runId, tail, new Error('too many events wait to be written'));
        return promise;
      }
      if (tail.followers > 0 || tail.pendingBytes > maxHeldBytes) writeSoon(runId, tail);
      else if (isAwaited) held.add(runId, tail);
      else heldLonger.add(runId, tail);
      return promise;
    },
    writeSoon,
    canWrite: () => accepts,
    [Symbol.asyncDispose]: async () => {
      closing = true;
      clearTimeout(retry);
      held.end();
      heldLonger.end();
      writeRefused();
      while (underWay.size() > 0) await Promise.all(underWay.values());
    },
  };
}

/** Live runs without followers, whose events wait to be written. */
interface Held {
  readonly add: (runId: string, tail: Tail) => void;
  readonly drop: (runId: string) => void;
  /** Writes what waits. */
  readonly end: () => void;
}

/** They wait, at least `ms` and at most twice that, so that several steps share a row, and several runs a transaction. */
function createHeld(ms: number, write: (runId: string, tail: Tail) => void): Held {
  let older = createShortLivedMap<string, Tail>();
  let newer = createShortLivedMap<string, Tail>();
  let timer: NodeJS.Timeout | undefined;
  const turn = (): void => {
    const due = older;
    older = newer;
    newer = createShortLivedMap();
    timer = older.size() > 0 ? setTimeout(turn, ms) : undefined;
    for (const [runId, tail] of due.entries()) write(runId, tail);
  };
  return {
    add: (runId, tail) => {
      if (!older.has(runId)) newer.set(runId, tail);
      timer ??= setTimeout(turn, ms);
    },
    drop: (runId) => {
      older.delete(runId);
      newer.delete(runId);
    },
    end: () => {
      turn();
      turn();
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

function wake({ waiting }: Tail): void {
  for (const each of waiting) each();
}

function takeBatch(tail: Tail, scope: RunScope): Batch {
  // No event is appended to a closed log: the end is the last of the pending events.
  const batch = {
    ...{ scope, events: tail.pending, stored: tail.stored },
    ...{ bytes: tail.pendingBytes, isLast: tail.closed },
  };
  tail.pending = [];
  tail.pendingBytes = 0;
  tail.stored = undefined;
  return batch;
}

const bytesOf = (events: readonly RunEvent[]): number => events.reduce((sum, event) => sum + bytesOfEvent(event), 0);

/** The last event of a log, unless it is so large that it is read from the file when it is needed. */
export const kept = (event: RunEvent | undefined): RunEvent | undefined =>
  event && bytesOfEvent(event) <= maxRecentBytes ? event : undefined;

/** Adds the newest events, and drops the oldest ones above the bounds. */
function remember(tail: Tail, events: readonly RunEvent[], newBytes: number): void {
  const all = tail.recent.length === 0 ? [...events] : tail.recent.concat(events);
  let bytes = tail.recentBytes + newBytes;
  let first = 0;
  for (; all.length - first > recentEvents || bytes > maxRecentBytes; first++) {
    const oldest = all[first];
    bytes -= oldest ? bytesOfEvent(oldest) : 0;
  }
  tail.recent = first === 0 ? all : all.slice(first);
  tail.recentBytes = bytes;
}

function refuseFailed({ failure }: Tail): void {
  if (failure) throw failure;
}

/** Resolves when the tail has new events, or its last one, which may not be written yet. @throws the tail's failure, or the signal's reason when it fires first. */
export async function changed(tail: Tail, signal: AbortSignal): Promise<void> {
  refuseFailed(tail);
  await new Promise<void>((resolve, reject) => {
    signal.throwIfAborted();
    const go = (): void => {
      tail.waiting.delete(go);
      signal.removeEventListener('abort', stop);
      resolve();
    };
    const stop = (): void => {
      tail.waiting.delete(go);
      reject(signal.reason as Error);
    };
    tail.waiting.add(go);
    signal.addEventListener('abort', stop, { once: true });
  });
  refuseFailed(tail);
}
