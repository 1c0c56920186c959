import { randomInt } from 'node:crypto';
import { eachOf } from '@agent-workflow/kit/each';
import { canBeRetried, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { every } from '@agent-workflow/kit/life';
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
  /** Called after each whole sweep with how many objects were due. */
  readonly onSwept?: ((count: number) => void) | undefined;
}

const usualIntervalMs = 1000;
const callTimeoutMs = 30_000;
const dueAtOnce = 100;
const handledAtOnce = 8;
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
  const { threads, kind, handle, handleMs, log, onSwept } = options;
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

  const handleOne = async (due: DueResource, now: () => number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    const resource = await read(due, signal);
    if (!resource) return;
    const call = within(handleMs, AbortSignal.any([signal, AbortSignal.timeout(handleMs)]));
    try {
      await unlessAborted(call.signal, () => handle(resource, { call, now }));
      failures.delete(nameOf(due));
    } catch (error) {
      if (signal.aborted) return;
      const isPostponed = await postpone(resource, now());
      // Where another replica came first, its write is the one that counts.
      if (isPostponed || !isServiceError(error, 'Conflict')) logFailure(error, due);
    }
  };

  return async (signal) => {
    let count = 0;
    for (let after: DueResource | undefined; !signal.aborted;) {
      const request = { kind, limit: dueAtOnce, ...(after && { after }) };
      const { due, hasMore, now } = await threads.listDueResources(request, within(callTimeoutMs, signal));
      const received = performance.now();
      const recordNow = (): number => now + Math.floor(performance.now() - received);
      await eachOf(shuffled(due), handledAtOnce, (one) => handleOne(one, recordNow, signal));
      after = due.at(-1);
      count += due.length;
      if (!hasMore || !after) break;
    }
    onSwept?.(count);
  };
}

type Named = Pick<DueResource, 'owner' | 'id'>;

const nameOf = ({ owner, id }: Named): string => JSON.stringify([owner, id]);

function shuffled<T>(items: readonly T[]): readonly T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(randomInt(rest.length), 1));
}

/** What the work resolves with, unless the signal fires first: also work that does not heed it is given up. */
const unlessAborted = async (signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  await Promise.race([work(), aborted]);
};
