import { LRUCache } from 'lru-cache';
import { eachOf } from '@agent-workflow/kit/each';
import { canBeRetried } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { logFailures } from '@agent-workflow/runtime/retries';
import { getKey, listKeyIds, noteUse, type KeptKey } from './kept-key.ts';

/** Knows which keys there are, not longer than it takes to revoke one. */
export interface LiveKeys extends AsyncDisposable {
  /** The key with this id, as it was at most 3.5 seconds ago; `undefined` when there is none. @throws Unavailable */
  readonly find: (id: string) => Promise<KeptKey | undefined>;
  /** Calls `end` when the key is revoked or has expired, and when that can no longer be known; until disposed. */
  readonly hold: (key: KeptKey, end: () => void) => Disposable;
  /** Writes down, now and then, that a key is used. */
  readonly noteUse: (key: KeptKey) => void;
}

export interface LiveKeysOptions {
  readonly threads: Pick<ResourceCalls, 'getResource' | 'listResourceMarks' | 'putResource'>;
  readonly log: Log;
}

/**
 * Times in milliseconds. A key counts until 3.5 s after the begin of the last read that found it. While requests are open that it lets in, it is
 * sought every second: so nothing is delivered 5 s after it was revoked, also when the record does not answer.
 */
const freshMs = 2000;
const goodMs = 3500;
const sweepMs = 1000;
const readMs = 1000;
/** Up to so many keys that let something in are read one by one, some at a time; of more the list of all is read. */
const fewKeys = 200;
const atOnce = 16;
/** How coarse the time of the last use is. */
const useMs = 10 * 60_000;

const maxKnown = 10_000;
/** Ids that are none: of a caller who tries many the first are read again. */
const maxUnknown = 1000;

interface Known {
  readonly key: KeptKey | undefined;
  /** When the read began that has found it, by a monotonic clock. */
  readonly readAt: number;
}

export function openLiveKeys({ threads, log }: LiveKeysOptions): LiveKeys {
  const now = (): number => performance.now();
  const known = cacheOf(maxKnown);
  const unknown = cacheOf(maxUnknown);
  const reading = new Map<string, Promise<KeptKey | undefined>>();
  const held = new Map<string, Set<Held>>();
  const note = (id: string, key: KeptKey | undefined, readAt: number): void => {
    (key ? unknown : known).delete(id);
    (key ? known : unknown).set(id, { key, readAt });
  };
  const isGood = (id: string): boolean => now() - (known.get(id)?.readAt ?? -Infinity) < goodMs;

  const read = async (id: string): Promise<KeptKey | undefined> => {
    const readAt = now();
    try {
      const key = await getKey(id, threads, within(readMs));
      note(id, key, readAt);
      return key;
    } catch (error) {
      if (canBeRetried(error) && isGood(id)) return known.get(id)?.key;
      throw error;
    } finally {
      reading.delete(id);
    }
  };
  const endOf = (id: string): void => {
    const all = held.get(id) ?? [];
    held.delete(id);
    for (const { end } of all) end();
  };
  const endOver = (): void => {
    for (const [id, [first]] of held) if (!isGood(id) || (first && first.key.expiresAt <= Date.now())) endOf(id);
  };
  const checkOne = async (id: string): Promise<void> => {
    const readAt = now();
    note(id, await getKey(id, threads, within(readMs)), readAt);
  };
  /** What a page says counts at once: a list that takes long, or ends early, is no loss of what it has said. */
  const checkByList = async (): Promise<void> => {
    const left = new Set([...held.keys()]);
    let readAt = now();
    for await (const { ids, downTo } of listKeyIds(threads, () => within(readMs))) {
      for (const id of left) {
        if (downTo !== undefined && id < downTo) continue;
        left.delete(id);
        note(id, ids.has(id) ? known.get(id)?.key : undefined, readAt);
      }
      readAt = now();
    }
  };
  const sweep = async (): Promise<void> => {
    endOver();
    if (held.size === 0) return;
    try {
      await (held.size > fewKeys ? checkByList() : eachOf([...held.keys()], atOnce, checkOne));
    } finally {
      endOver();
    }
  };
  const sweeps = every(
    sweepMs,
    sweep,
    logFailures({
      log,
      text: 'which API keys are revoked cannot be read; what they let in ends before one could count too long',
    }),
  );

  return {
    find: async (id) => {
      const found = known.get(id) ?? unknown.get(id);
      if (found && now() - found.readAt < freshMs) return found.key;
      const begun = reading.get(id) ?? read(id);
      reading.set(id, begun);
      return begun;
    },
    hold: (key, end) => {
      const holder = { key, end };
      const all = held.get(key.id) ?? new Set();
      held.set(key.id, all.add(holder));
      return {
        [Symbol.dispose]: () => {
          all.delete(holder);
          if (all.size === 0 && held.get(key.id) === all) held.delete(key.id);
        },
      };
    },
    noteUse: (key) => {
      const at = Date.now();
      if (at - (key.lastUsedAt ?? 0) < useMs) return;
      const before = known.get(key.id);
      if (before?.key !== key) return;
      // What is not written now is tried again with a use some minutes later.
      known.set(key.id, { ...before, key: { ...key, lastUsedAt: at } });
      void noteUse(key, at, threads, within(readMs)).then(
        (next) => {
          const { readAt } = known.get(key.id) ?? {};
          if (readAt !== undefined) known.set(key.id, { key: next, readAt });
        },
        () => undefined,
      );
    },
    [Symbol.asyncDispose]: () => sweeps[Symbol.asyncDispose](),
  };
}

/** Whether the key with this id is there, and has not expired. */
export const isLiveAmong =
  ({ find }: Pick<LiveKeys, 'find'>) =>
  async (id: string): Promise<boolean> => {
    const key = await find(id);
    return key !== undefined && key.expiresAt > Date.now();
  };

interface Held {
  readonly key: KeptKey;
  readonly end: () => void;
}

/** By size: with `max` it would take the memory of all at once. */
const cacheOf = (maxSize: number): LRUCache<string, Known> => new LRUCache({ maxSize, sizeCalculation: () => 1 });
