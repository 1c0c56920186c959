import { isServiceError, stale, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { isTerminal, type AppendOptions } from '../../ports/log.ts';
import type { LogPosition, StoredLogs } from './stored.ts';

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

/** The live end of one run's log, while it is written or followed. */
export class Tail {
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
  /** The newest events, without a gap up to `last`, and their bytes. */
  recent: readonly RunEvent[] = [];
  recentBytes = 0;
  /** Appended and not part of a write yet, and their bytes. */
  pending: RunEvent[] = [];
  pendingBytes = 0;
  /** The events that are being written; they stay until the file has them. */
  batch: Batch | undefined;
  /** Whether a write is under way, or waits to be tried again. */
  scheduled = false;
  /** When the waiting write was first refused. */
  refusedAt: number | undefined;
  /** Settles when the pending events are written. */
  stored: PromiseWithResolvers<void> | undefined;
  /** Followers, and those that wait for the end alone. */
  listeners = 0;
  /** Listeners that read every event. */
  followers = 0;
  writing = false;
  readonly #waiting = new Set<(value?: unknown) => void>();

  constructor({ last, end }: LogPosition, openedAt: number) {
    this.last = last;
    this.lastAt = openedAt;
    this.ended = end !== undefined;
    this.closed = this.ended;
    this.end = end && kept(end);
  }

  /** Whether somebody waits for it, or something of it waits to be written. */
  get isInUse(): boolean {
    return this.listeners > 0 || this.writing || this.pending.length > 0;
  }

  wake(): void {
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  /**
   * Resolves when there are new events, or the last one, which may not be written yet.
   * @throws the tail's failure, or the signal's reason when it fires first.
   */
  async changed(signal: AbortSignal): Promise<void> {
    this.#refuse(signal);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#waiting.add(resolve);
    signal.addEventListener('abort', resolve);
    await promise;
    signal.removeEventListener('abort', resolve);
    this.#waiting.delete(resolve);
    this.#refuse(signal);
  }

  #refuse(signal: AbortSignal): void {
    if (this.failure) throw this.failure;
    signal.throwIfAborted();
  }

  /** Adds events to those that wait. */
  add(events: readonly RunEvent[], bytes: number): void {
    this.pending.push(...events);
    this.pendingBytes += bytes;
    this.last = events.at(-1)?.seq ?? this.last;
    this.lastAt = Date.now();
    this.writing = true;
  }

  /** What is written next: what a write that was refused held, else all that waits. */
  takeBatch(scope: RunScope): Batch {
    if (this.batch) return this.batch;
    // No event is appended to a closed log: the end is the last of the pending events.
    this.batch = {
      ...{ scope, events: this.pending, stored: this.stored },
      ...{ bytes: this.pendingBytes, isLast: this.closed },
    };
    this.pending = [];
    this.pendingBytes = 0;
    this.stored = undefined;
    return this.batch;
  }

  /** Adds the newest events, and drops the oldest ones above the bounds. */
  remember(events: readonly RunEvent[], newBytes: number): void {
    const all = this.recent.length === 0 ? events : this.recent.concat(events);
    let bytes = this.recentBytes + newBytes;
    let first = 0;
    for (; all.length - first > recentEvents || bytes > maxRecentBytes; first++) {
      const oldest = all[first];
      bytes -= oldest ? bytesOfEvent(oldest) : 0;
    }
    this.recent = first === 0 ? all : all.slice(first);
    this.recentBytes = bytes;
  }
}

/** The last event of a log, unless it is so large that it is read from the file when it is needed. */
const kept = (event: RunEvent): RunEvent | undefined => (bytesOfEvent(event) <= maxRecentBytes ? event : undefined);

/** Events of one run that are written together. */
interface Batch extends EventBatch {
  readonly bytes: number;
  /** Whether the last of them ends the log. */
  readonly isLast: boolean;
  readonly stored: Tail['stored'];
}

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

/**
 * Writes the events of all tails. Events of one tick share a transaction, and those of one run a row. Writes that the file refuses for now
 * are tried again, each run's events by themselves. Disposal writes what waits, once.
 */
export class LogWriter implements AsyncDisposable {
  readonly #options: WriterOptions;
  readonly #held = new HeldTails(holdMs, this);
  readonly #heldLonger = new HeldTails(longHoldMs, this);
  /** Live runs whose events the file has refused, in the order in which they are tried again. */
  #refused = new Map<string, Tail>();
  #retry: NodeJS.Timeout | undefined;
  #pauseMs = firstPauseMs;
  #accepts = true;
  #waitingBytes = 0;
  #isClosing = false;
  #underWay = 0;
  readonly #idle = Promise.withResolvers<undefined>();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Adds events to a tail; resolves when they are written. @throws Stale when its last number is not `after`. */
  append(tail: Tail, { scope, after, events }: Added, { isAwaited = true }: AppendOptions = {}): Promise<void> {
    const { runId } = scope;
    if (tail.last !== after || tail.closed)
      throw stale(`the log of run "${runId}" has been continued by another worker`);
    let bytes = 0;
    for (const event of events) bytes += bytesOfEvent(event);
    this.#waitingBytes += bytes;
    tail.scope ??= scope;
    tail.add(events, bytes);
    const end = events.at(-1);
    if (end && isTerminal(end)) {
      tail.closed = true;
      tail.end = kept(end);
      tail.wake();
    }
    tail.stored ??= Promise.withResolvers();
    const { promise } = tail.stored;
    if (this.#refused.size > 0 && this.#waitingBytes > maxWaitingBytes)
      this.#abandon(runId, tail, new Error('too many events wait to be written'));
    else if (tail.followers > 0 || tail.pendingBytes > maxHeldBytes) this.writeSoon(runId, tail);
    else (isAwaited ? this.#held : this.#heldLonger).add(runId, tail);
    return promise;
  }

  /** Writes at once what a tail holds. */
  writeSoon(runId: string, tail: Tail): void {
    this.#held.drop(runId);
    this.#heldLonger.drop(runId);
    if (tail.pending.length === 0 || tail.scheduled) return;
    tail.scheduled = true;
    void this.#write(runId, tail);
  }

  /** False from a refused write on that is to be tried again, until the file accepts one. */
  canWrite(): boolean {
    return this.#accepts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#retry);
    this.#held.end();
    this.#heldLonger.end();
    this.#writeRefused();
    if (this.#underWay > 0) await this.#idle.promise;
  }

  /** Resolves with whether the file accepts writes. A write that it refuses for good does not mean that it refuses others. */
  async #write(runId: string, tail: Tail): Promise<boolean> {
    const { write, put, onPlainEnd } = this.#options;
    this.#underWay++;
    try {
      const isPlainEnd = await write(() => {
        const { scope, failure } = tail;
        if (failure || !scope) return false;
        const batch = tail.takeBatch(scope);
        return put(batch, batch.isLast);
      });
      this.#accepts = true;
      if (!tail.failure) this.#publish(runId, tail);
      if (isPlainEnd) onPlainEnd();
      return true;
    } catch (error) {
      if (!tail.failure) this.#tryAgainLater(runId, tail, error);
      return !isServiceError(error, 'Unavailable');
    } finally {
      this.#underWay--;
      if (this.#underWay === 0 && this.#isClosing) this.#idle.resolve(undefined);
    }
  }

  #publish(runId: string, tail: Tail): void {
    const { events = [], bytes = 0, isLast = false, stored } = tail.batch ?? {};
    tail.batch = undefined;
    tail.scheduled = false;
    tail.refusedAt = undefined;
    this.#waitingBytes -= bytes;
    tail.ended ||= isLast;
    // Nobody reads a log from here that has ended and has no listener.
    if (!tail.ended || tail.listeners > 0) tail.remember(events, bytes);
    tail.writing = tail.pending.length > 0;
    tail.wake();
    stored?.resolve();
    if (tail.writing) this.writeSoon(runId, tail);
    else if (tail.listeners === 0) this.#options.onWritten(runId, tail);
  }

  /** Ends a log whose events could not be written, for its followers and its worker. No follower has seen these events. */
  #abandon(runId: string, tail: Tail, error: unknown): void {
    const failure = unavailable('the event log cannot be written right now', error);
    tail.failure = failure;
    this.#waitingBytes -= tail.pendingBytes + (tail.batch?.bytes ?? 0);
    this.#options.onAbandoned(runId, tail);
    this.#refused.delete(runId);
    // Nothing is tried again that could show when the file accepts writes.
    if (this.#refused.size === 0) this.#accepts = true;
    this.#held.drop(runId);
    this.#heldLonger.drop(runId);
    tail.wake();
    tail.batch?.stored?.reject(failure);
    tail.stored?.reject(failure);
    tail.batch = undefined;
    tail.pending = [];
    tail.pendingBytes = 0;
  }

  #tryAgainLater(runId: string, tail: Tail, error: unknown): void {
    tail.refusedAt ??= performance.now();
    const isOver = this.#isClosing || performance.now() - tail.refusedAt > this.#options.waitMs;
    if (isOver || !isServiceError(error, 'Unavailable')) {
      this.#abandon(runId, tail, error);
      return;
    }
    this.#refused.set(runId, tail);
    this.#accepts = false;
    this.#setRetry();
  }

  #setRetry(): void {
    this.#retry ??= setTimeout(() => void this.#tryAgain(), this.#pauseMs);
  }

  /** Tries the events of one run first, another one each time. When the file accepts them, those of the other runs follow. */
  async #tryAgain(): Promise<void> {
    this.#retry = undefined;
    const [first] = this.#refused;
    if (!first) return;
    this.#refused.delete(first[0]);
    if (await this.#write(...first)) {
      this.#pauseMs = firstPauseMs;
      this.#writeRefused();
      return;
    }
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    // The events of this run may have waited too long; the others are still tried again.
    if (this.#refused.size > 0) this.#setRetry();
  }

  #writeRefused(): void {
    const rest = this.#refused;
    this.#refused = new Map();
    for (const [runId, tail] of rest) void this.#write(runId, tail);
  }
}

/**
 * Live runs without followers, whose events wait to be written: at least `ms` and at most twice that, so that several steps share a row, and
 * several runs a transaction.
 */
class HeldTails {
  readonly #ms: number;
  readonly #writer: Pick<LogWriter, 'writeSoon'>;
  #older = createShortLivedMap<string, Tail>();
  #newer = createShortLivedMap<string, Tail>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number, writer: Pick<LogWriter, 'writeSoon'>) {
    this.#ms = ms;
    this.#writer = writer;
  }

  add(runId: string, tail: Tail): void {
    if (!this.#older.has(runId)) this.#newer.set(runId, tail);
    this.#setTimer();
  }

  drop(runId: string): void {
    this.#older.delete(runId);
    this.#newer.delete(runId);
  }

  /** Writes what waits. */
  end(): void {
    this.#turn();
    this.#turn();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #setTimer(): void {
    this.#timer ??= setTimeout(() => this.#turn(), this.#ms);
  }

  #turn(): void {
    const due = this.#older;
    this.#older = this.#newer;
    this.#newer = createShortLivedMap();
    this.#timer = undefined;
    if (this.#older.size() > 0) this.#setTimer();
    for (const [runId, tail] of due.entries()) this.#writer.writeSoon(runId, tail);
  }
}
