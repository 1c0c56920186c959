import { every } from '@agent-workflow/kit/life';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Weaviate } from './weaviate-client.ts';
import type { Marks } from './weaviate-marks.ts';
import { repairIndex } from './weaviate-repair.ts';

/** Whether searches can be believed. */
export interface Watch extends AsyncDisposable {
  /** @throws Unavailable while what a restart of Weaviate may have lost of its index is being put again. */
  readonly refuseUnchecked: () => void;
  /** Something went wrong: what was written lately is checked. */
  readonly suspect: () => void;
  /** Resolves when searches can be believed, and what was suspected is repaired. */
  readonly settled: () => Promise<void>;
}

export interface WatchOptions {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  readonly collection: string;
  readonly onRepair: (count: number) => void;
  readonly onFailure: (error: unknown) => void;
}

/** A restart takes Weaviate two seconds and more, so that looking this often sees it away. */
const lookMs = 1000;
/** How often the mark moves on. */
const markMs = 30_000;
/** How often what single failures make suspect is checked at most. */
const suspectMs = 10_000;
/** Writes that were under way when the mark was written are on its far side. */
const marginMs = 15_000;

/** What stands at the mark `check`: what was written before `goodUntil` is in the index. */
interface Check {
  readonly fingerprint: string;
  readonly goodUntil: number;
}

/**
 * Watches for restarts of Weaviate. One that was killed has every object, but may miss the last writes in its vector index; so
 * after a restart, what was written since the last good check is put again before anything is searched. It begins with such a
 * check, because nobody knows what happened before.
 * @throws Unavailable when Weaviate is away.
 */
export async function openWatch({ weaviate, marks, collection, onRepair, onFailure }: WatchOptions): Promise<Watch> {
  let isChecked = false;
  let isSuspect = false;
  let fingerprint = '';
  let markedAt = 0;
  let repairedAt = 0;
  let waiting: (() => void)[] = [];

  const writeMark = async (goodUntil: number): Promise<void> => {
    const check: Check = { fingerprint, goodUntil };
    await marks.write('check', '', check);
    markedAt = Date.now();
  };

  const repair = async (): Promise<void> => {
    isSuspect = false;
    const seen = await weaviate.readFingerprint();
    const now = await readClock(marks);
    const known = (await marks.read('check'))?.value as Check | undefined;
    onRepair(await repairIndex({ weaviate, marks, collection, since: known?.goodUntil ?? 0 }));
    fingerprint = seen;
    await writeMark(now - marginMs);
    repairedAt = Date.now();
    isChecked = true;
  };

  const look = async (): Promise<void> => {
    try {
      const seen = await weaviate.readFingerprint();
      if (seen !== fingerprint) isChecked = false;
      const isDue = isSuspect && Date.now() - repairedAt > suspectMs;
      if (!isChecked || isDue) await repair();
      else if (!isSuspect && Date.now() - markedAt > markMs) await writeMark((await readClock(marks)) - marginMs);
      if (isSuspect) return;
      for (const wake of waiting) wake();
      waiting = [];
    } catch (error) {
      isChecked = false;
      throw error;
    }
  };

  await look();
  const watching = every(lookMs, look, onFailure);
  return {
    refuseUnchecked: () => {
      if (!isChecked) throw unavailable('the index of memories is being checked after a restart of its store');
    },
    suspect: () => {
      isSuspect = true;
    },
    settled: async () => {
      if (isChecked && !isSuspect) return;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      waiting.push(() => {
        resolve(undefined);
      });
      await promise;
    },
    [Symbol.asyncDispose]: async () => watching[Symbol.asyncDispose](),
  };
}

/** The server's clock, by which it says when an object was written. */
async function readClock(marks: Marks): Promise<number> {
  await marks.write('clock', '', 0);
  return (await marks.read('clock'))?.updatedAt ?? 0;
}
