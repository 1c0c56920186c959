import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { eachOf } from '@agent-workflow/kit/each';
import { canBeRetried, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { every } from '@agent-workflow/kit/life';
import { limitTime } from './limit-time.ts';
import type { Log } from '@agent-workflow/kit/log';
import { backoffMs } from '@agent-workflow/kit/retry';
import { LRUCache } from 'lru-cache';
import { growingSilence, logFailures } from './retries.ts';

interface Call {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

interface ResourceKey<Kind> {
  readonly kind: Kind;
  readonly owner: string;
  readonly id: string;
}

/** An object of the record that a sweep may have to look at. */
export interface SweptResource extends ResourceKey<string> {
  readonly version: number;
  readonly json: Uint8Array;
  readonly createdAt: number;
  readonly dueAt?: number;
}

interface DueResource {
  readonly dueAt: number;
  readonly owner: string;
  readonly id: string;
  readonly version: number;
}

/** The calls to the record by which objects are found and written. */
interface DueRecords<Kind extends string> {
  readonly listDueResources: (
    request: { readonly kind: Kind; readonly limit: number; readonly after?: DueResource },
    call: Call,
  ) => Promise<{ readonly due: readonly DueResource[]; readonly hasMore: boolean; readonly now: number }>;
  readonly getResource: (request: ResourceKey<Kind>, call: Call) => Promise<SweptResource>;
  readonly putResource: (
    request: ResourceKey<Kind> & { readonly version: number; readonly json: Uint8Array; readonly dueAt?: number },
    call: Call,
  ) => Promise<unknown>;
}

const within = (ms: number, signal: AbortSignal = never): Call => ({ deadline: Date.now() + ms, signal });

const never = new AbortController().signal;

/**
 * Handles one object that is due, and writes it with its next version: until it is due no more, or later, it is found again. Several replicas
 * may handle one version at once, and only one of them can write the next: what shall happen once comes after such a write.
 */
export type HandleDue = (
  resource: SweptResource,
  handling: {
    /** Ends with the time that the handling may take, and with the sweep. */
    readonly call: Call;
    /** The clock of the record, in milliseconds since 1970. */
    readonly now: () => number;
    /** When the list was there that has the object, by `performance.now()`: what is read after that is read after the object was written. */
    readonly listedAt: number;
  },
) => Promise<void>;

interface DueSweepOptions<Kind extends string> {
  readonly threads: DueRecords<Kind>;
  readonly kind: Kind;
  readonly handle: HandleDue;
  /** How long the handling of one object may take, in milliseconds. */
  readonly handleMs: number;
  readonly log: Pick<Log, 'error'>;
  /** Between two sweeps, in milliseconds; absent: a second. */
  readonly intervalMs?: number;
  /**
   * Whether the handling of a page begins evenly over most of the time between two sweeps, so that much that is due delays what else the process
   * does by one object at a time; no when absent.
   */
  readonly isSpread?: boolean;
  /** Called after each whole sweep with how many objects were due. */
  readonly onSwept?: ((count: number) => void) | undefined;
}

const usualIntervalMs = 1000;
const callTimeoutMs = 30_000;
const dueAtOnce = 100;
const spreadAtOnce = 500;
const handledAtOnce = 8;
/** So many of a page that is spread begin in one turn of the event loop: a store may write for them at once. */
const begunTogether = 2;
/** The longest time between two such turns, in milliseconds, and the part of the interval that all of them take. */
const longestGapMs = 10;
const spreadShare = 0.8;
/** The waits of an object whose handling fails again and again. */
const afterFailure = { firstMs: 5000, maxMs: 10 * 60_000 };
/** Objects whose failures are remembered. */
const remembered = 1000;

/** Sweeps again and again until disposed, which ends what is being handled. */
export function openDueSweep<Kind extends string>(options: DueSweepOptions<Kind>): AsyncDisposable {
  const closing = new AbortController();
  const sweep = createDueSweep(options);
  const text = `the sweep of what is due failed: ${options.kind}; the next one tries again`;
  const onFailure = logFailures({ log: options.log, text });
  const repeated = every(
    options.intervalMs ?? usualIntervalMs,
    () => sweep(closing.signal),
    (error) => (closing.signal.aborted ? undefined : onFailure(error)),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await repeated[Symbol.asyncDispose]();
    },
  };
}

/**
 * Handles once each object of one kind that is due by the clock of the record. One that fails is logged, becomes due again after a wait that
 * grows, and holds up no other. A page is handled in random order, so that replicas that read the same one seldom meet.
 */
export function createDueSweep<Kind extends string>(
  options: DueSweepOptions<Kind>,
): (signal: AbortSignal) => Promise<void> {
  const { threads, kind, handle, handleMs, log, onSwept, intervalMs = usualIntervalMs, isSpread = false } = options;
  const dueInPage = isSpread ? spreadAtOnce : dueAtOnce;
  const isFirst = createFirstOfKind({ ...growingSilence, max: remembered });
  const failures = new LRUCache<string, number>({ max: remembered });

  /** @returns whether the object is as it was handled, and due later now. */
  const postpone = async ({ owner, id, version, json }: SweptResource, now: number): Promise<boolean> => {
    const name = nameOf({ owner, id });
    const times = (failures.get(name) ?? 0) + 1;
    failures.set(name, times);
    const dueAt = now + Math.ceil(backoffMs(afterFailure, times));
    return threads.putResource({ kind, owner, id, version: version + 1, json, dueAt }, within(callTimeoutMs)).then(
      () => true,
      () => false,
    );
  };

  const logFailure = (error: unknown, { owner, id }: Named): void => {
    if (isFirst(nameOf({ owner, id })))
      log.error({ err: error, kind, id }, 'what is due could not be handled; it is tried again later');
  };

  const read = async (due: DueResource, signal: AbortSignal): Promise<SweptResource | undefined> => {
    const { owner, id, version } = due;
    try {
      const found = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, within(callTimeoutMs, signal)));
      return found?.version === version ? found : undefined;
    } catch (error) {
      if (signal.aborted || canBeRetried(error)) throw error;
      logFailure(error, due);
      return undefined;
    }
  };

  const handleOne = async (due: DueResource, seen: Seen, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    const resource = await read(due, signal);
    if (!resource) return;
    using time = limitTime(handleMs, signal);
    const call = within(handleMs, time.signal);
    try {
      await unlessAborted(call.signal, () => handle(resource, { call, ...seen }));
      failures.delete(nameOf(due));
    } catch (error) {
      if (signal.aborted) return;
      const isPostponed = await postpone(resource, seen.now());
      // Where another replica came first, its write is the one that counts.
      if (isPostponed || !isServiceError(error, 'Conflict')) logFailure(error, due);
    }
  };

  return async (signal) => {
    let count = 0;
    for (let after: DueResource | undefined; !signal.aborted;) {
      const request = { kind, limit: dueInPage, ...(after && { after }) };
      const { due, hasMore, now } = await threads.listDueResources(request, within(callTimeoutMs, signal));
      const listedAt = performance.now();
      const seen: Seen = { listedAt, now: () => now + Math.floor(performance.now() - listedAt) };
      const turn = isSpread ? createTurns(due.length, spreadShare * intervalMs) : undefined;
      await eachOf(shuffled(due), handledAtOnce, async (one) => {
        await turn?.();
        await handleOne(one, seen, signal);
      });
      after = due.at(-1);
      count += due.length;
      if (!hasMore || !after) break;
    }
    onSwept?.(count);
  };
}

type Seen = Pick<Parameters<HandleDue>[1], 'now' | 'listedAt'>;

/** Each call resolves in its turn, some in each; turns are evenly apart over a time in milliseconds, each in a later turn of the event loop. */
function createTurns(count: number, spreadMs: number): () => Promise<void> {
  const gapMs = Math.min(longestGapMs, (spreadMs * begunTogether) / count);
  let next = performance.now();
  let calls = 0;
  let turn = Promise.resolve();

  const nextAfter = async (before: Promise<void>): Promise<void> => {
    await before;
    const ms = next - performance.now();
    // Who is late catches up by a few turns.
    next += Math.max(gapMs, -ms - handledAtOnce * gapMs);
    await (ms > 0 ? delay(ms) : nextTurn());
  };

  return async () => {
    if (calls++ % begunTogether === 0) turn = nextAfter(turn);
    return turn;
  };
}

type Named = Pick<DueResource, 'owner' | 'id'>;

const nameOf = ({ owner, id }: Named): string => JSON.stringify([owner, id]);

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

/** What the work resolves with, unless the signal fires first: also work that does not heed it is given up. */
const unlessAborted = async (signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  await Promise.race([work(), aborted]);
};
