import { randomUUID } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import { isTold, type Weaviate } from './client.ts';
import { withLease } from './lease.ts';
import type { Mark, Marks } from './marks.ts';
import { repairIndex } from './repair.ts';

/** Whether searches find everything. */
export interface Watch extends AsyncDisposable {
  /**
   * While what a restart of Weaviate may have lost of its index is put again: what was written since this time, by Weaviate's
   * clock, may be missing from searches. `undefined` when nothing is missing.
   */
  readonly incompleteSince: () => number | undefined;
  /** Something went wrong: what was written lately is checked. */
  readonly suspect: () => void;
  /** Resolves when searches find everything, and what was suspected is repaired. */
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

/** What the replicas know together of the index: the mark `check`. */
interface Check {
  /** Which start of Weaviate it speaks of. */
  readonly fingerprint: string;
  /** What was written before, by Weaviate's clock, is in the index. */
  readonly goodUntil: number;
  /** Names the last repair. */
  readonly epoch: string;
  /** Whether that repair has ended. */
  readonly isWhole: boolean;
}

/**
 * Watches for restarts of Weaviate. One that was killed has every object, but may miss the last writes in its vector index; so
 * after a restart what was written since the last good check is put again. One replica does that, under a lease; the others wait
 * for its mark. Meanwhile searches answer from what is in the index.
 * @throws Unavailable when Weaviate is away.
 */
export async function openWatch({ weaviate, marks, collection, onRepair, onFailure }: WatchOptions): Promise<Watch> {
  const holder = randomUUID();
  let known: Check = { fingerprint: '', goodUntil: 0, epoch: '', isWhole: false };
  let isChecked = false;
  let isSuspect = false;
  let markedAt = 0;
  let repairedAt = 0;
  let waiting: (() => void)[] = [];

  const readCheck = async (): Promise<(Mark & { readonly check: Check }) | undefined> => {
    const mark = await marks.read('check');
    return mark && { ...mark, check: mark.value as Check };
  };

  const writeCheck = async (check: Check): Promise<void> => {
    await marks.write('check', '', check);
    known = check;
    markedAt = Date.now();
  };

  const repair = async (seen: string): Promise<void> => {
    const now = await marks.readClock();
    const { check } = (await readCheck()) ?? {};
    // Another replica may have ended its repair while this one waited for the lease.
    if (check && !isChecked && isRepairedSince(check, seen)) {
      adopt(check);
      return;
    }
    isSuspect = false;
    const goodUntil = check?.goodUntil ?? 0;
    const goesOn = check !== undefined && (isChecked || (!check.isWhole && check.fingerprint === seen && isTold(seen)));
    const epoch = goesOn ? check.epoch : randomUUID();
    if (!isChecked) await writeCheck({ fingerprint: seen, goodUntil, epoch, isWhole: false });
    const count = await repairIndex({ weaviate, marks, collection, since: goodUntil, epoch });
    // A restart in the middle begins it anew.
    if ((await weaviate.readFingerprint()) !== seen) return;
    await writeCheck({ fingerprint: seen, goodUntil: now - marginMs, epoch, isWhole: true });
    repairedAt = Date.now();
    isChecked = true;
    onRepair(count);
  };

  /** Whether a repair has ended that began after this replica last knew the index to be whole. */
  const isRepairedSince = (check: Check, seen: string): boolean =>
    check.isWhole && check.fingerprint === seen && check.epoch !== known.epoch;

  const adopt = (check: Check): void => {
    known = check;
    isChecked = true;
    markedAt = Date.now();
  };

  /** The clock is read before the fingerprint: what the mark says of a time before a restart is never said after it. */
  const moveMark = async (): Promise<void> => {
    const now = await marks.readClock();
    const seen = await weaviate.readFingerprint();
    if (seen !== known.fingerprint) {
      isChecked = false;
      return;
    }
    const { check } = (await readCheck()) ?? {};
    if (check && check.epoch !== known.epoch) {
      if (check.isWhole && check.fingerprint === seen) adopt(check);
      return;
    }
    await writeCheck({ ...known, goodUntil: now - marginMs, isWhole: true });
  };

  const repairInTurn = async (seen: string): Promise<void> => {
    await withLease({ marks, kind: 'repairer', holder, onFailure }, async () => repair(seen));
  };

  const look = async (): Promise<void> => {
    try {
      const seen = await weaviate.readFingerprint();
      if (isChecked && seen !== known.fingerprint) isChecked = false;
      if (!isChecked) {
        const { check } = (await readCheck()) ?? {};
        if (check && isRepairedSince(check, seen)) adopt(check);
        else await repairInTurn(seen);
      } else if (isSuspect) {
        if (Date.now() - repairedAt > suspectMs) await repairInTurn(seen);
      } else if (Date.now() - markedAt > markMs) await moveMark();
      if (isSuspect || !isChecked) return;
      for (const wake of waiting) wake();
      waiting = [];
    } catch (error) {
      isChecked = false;
      throw error;
    }
  };

  /**
   * Nobody knows what happened before this process began, unless another wrote the mark a moment ago: that one would have seen a
   * restart. Where there is no mark at all there was no service, and mostly no memory.
   */
  const begin = async (): Promise<void> => {
    const seen = await weaviate.readFingerprint();
    const mark = await readCheck();
    if (!mark) {
      await look();
      return;
    }
    const { check, updatedAt } = mark;
    const isFresh = updatedAt > (await marks.readClock()) - 2 * markMs;
    if (isFresh && isRepairedSince(check, seen)) adopt(check);
    else known = { ...check, fingerprint: '', epoch: check.isWhole ? check.epoch : '' };
  };

  await begin();
  const watching = every(lookMs, look, onFailure);
  return {
    incompleteSince: () => (isChecked ? undefined : known.goodUntil),
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
