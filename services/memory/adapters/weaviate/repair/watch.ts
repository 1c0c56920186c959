import { randomUUID } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import { showsRestarts } from '../client/fingerprint.ts';
import type { Reads } from '../records/by-id.ts';
import type { Mark, Marks } from '../marks/marks.ts';
import { repairIndex } from './repair.ts';

/** Knows whether searches find everything. */
export interface Watch extends AsyncDisposable {
  /**
   * While the index is repaired after a restart of Weaviate: memories written since this time, by Weaviate's clock, may be missing from
   * searches. `undefined` when nothing is missing.
   */
  readonly incompleteSince: () => number | undefined;
  /** Requests a check of the latest writes. It is called after a failed request. */
  readonly suspect: () => void;
  /** Resolves when searches find everything, and every requested check is done. */
  readonly untilComplete: () => Promise<void>;
}

interface WatchOptions {
  readonly reads: Reads;
  readonly marks: Marks;
  readonly collection: string;
  readonly onRepair: (count: number) => void;
  readonly onFailure: (error: unknown) => void;
}

/** A restart takes Weaviate two seconds and more, so that polling this often finds each one. */
const pollMs = 1000;
/** How often the mark is renewed. */
const markMs = 30_000;
/** The least time between two checks after failed requests. */
const suspectMs = 10_000;
/** The mark is so much older than the clock, so that writes that were under way are behind it. */
const marginMs = 15_000;

/** What the replicas share about the index: the mark `check`. */
interface Check {
  /** Which start of Weaviate the mark is about. */
  readonly fingerprint: string;
  /** What was written before this time, by Weaviate's clock, is in the index. */
  readonly goodUntil: number;
  /** Names the last repair. */
  readonly epoch: string;
  /** Whether that repair has ended. */
  readonly isWhole: boolean;
}

/**
 * Watches for restarts of Weaviate. A Weaviate that was killed has every object, but its vector index may miss the last writes; so after
 * a restart everything written since the last good check is put again. One replica does that, under a lease; the others wait for its
 * mark. Meanwhile searches answer from the incomplete index.
 * @throws Unavailable when Weaviate cannot be reached.
 */
export async function openWatch(options: WatchOptions): Promise<Watch> {
  const watcher = createWatcher(options);
  await watcher.begin();
  const polling = every(pollMs, watcher.poll, options.onFailure);
  return {
    incompleteSince: watcher.incompleteSince,
    suspect: watcher.suspect,
    untilComplete: watcher.untilComplete,
    [Symbol.asyncDispose]: async () => polling[Symbol.asyncDispose](),
  };
}

interface Watcher extends Omit<Watch, keyof AsyncDisposable> {
  readonly begin: () => Promise<void>;
  readonly poll: () => Promise<void>;
}

function createWatcher({ reads, marks, collection, onRepair, onFailure }: WatchOptions): Watcher {
  const { weaviate } = reads;
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

  const adopt = (check: Check): void => {
    known = check;
    isChecked = true;
    markedAt = Date.now();
  };

  /** Whether a repair has ended that began after this replica last knew the index to be complete. */
  const isRepairedSince = (check: Check, fingerprint: string): boolean =>
    check.isWhole && check.fingerprint === fingerprint && check.epoch !== known.epoch;

  const repair = async (fingerprint: string): Promise<void> => {
    const now = await marks.readClock();
    const { check } = (await readCheck()) ?? {};
    // Another replica may have ended its repair while this one waited for the lease.
    if (check && !isChecked && isRepairedSince(check, fingerprint)) {
      adopt(check);
      return;
    }
    isSuspect = false;
    const goodUntil = check?.goodUntil ?? 0;
    const isSameStart = check?.fingerprint === fingerprint && showsRestarts(fingerprint);
    const continues = check !== undefined && (isChecked || (!check.isWhole && isSameStart));
    const epoch = continues ? check.epoch : randomUUID();
    if (!isChecked) await writeCheck({ fingerprint, goodUntil, epoch, isWhole: false });
    const count = await repairIndex({ reads, marks, collection, since: goodUntil, until: now, epoch });
    // After a restart in the middle, the next poll begins the repair again.
    if ((await weaviate.readFingerprint()) !== fingerprint) return;
    await writeCheck({ fingerprint, goodUntil: now - marginMs, epoch, isWhole: true });
    repairedAt = Date.now();
    isChecked = true;
    onRepair(count);
  };

  const repairUnderLease = async (fingerprint: string): Promise<void> => {
    await withLease({ marks, kind: 'repairer', holder, onFailure }, async () => repair(fingerprint));
  };

  /** Reads the clock before the fingerprint, so that no time before a restart is marked as good after it. */
  const renewMark = async (): Promise<void> => {
    const now = await marks.readClock();
    const fingerprint = await weaviate.readFingerprint();
    if (fingerprint !== known.fingerprint) {
      isChecked = false;
      return;
    }
    const { check } = (await readCheck()) ?? {};
    if (check && check.epoch !== known.epoch) {
      if (check.isWhole && check.fingerprint === fingerprint) adopt(check);
      return;
    }
    await writeCheck({ ...known, goodUntil: now - marginMs, isWhole: true });
  };

  const checkIndex = async (): Promise<void> => {
    const fingerprint = await weaviate.readFingerprint();
    if (isChecked && fingerprint !== known.fingerprint) isChecked = false;
    if (!isChecked) {
      const { check } = (await readCheck()) ?? {};
      if (check && isRepairedSince(check, fingerprint)) adopt(check);
      else await repairUnderLease(fingerprint);
    } else if (isSuspect) {
      if (Date.now() - repairedAt > suspectMs) await repairUnderLease(fingerprint);
    } else if (Date.now() - markedAt > markMs) await renewMark();
  };

  const poll = async (): Promise<void> => {
    try {
      await checkIndex();
    } catch (error) {
      isChecked = false;
      throw error;
    }
    if (isSuspect || !isChecked) return;
    for (const wake of waiting) wake();
    waiting = [];
  };

  return {
    /**
     * A restart before this process began is unknown, unless another replica renewed the mark lately: that one saw it. Without a mark
     * there was no service, and in general no memory.
     */
    begin: async () => {
      const fingerprint = await weaviate.readFingerprint();
      const mark = await readCheck();
      if (!mark) {
        await poll();
        return;
      }
      const { check, updatedAt } = mark;
      const isRecent = updatedAt > (await marks.readClock()) - 2 * markMs;
      if (isRecent && isRepairedSince(check, fingerprint)) adopt(check);
      else known = { ...check, fingerprint: '', epoch: check.isWhole ? check.epoch : '' };
    },
    poll,
    incompleteSince: () => (isChecked ? undefined : known.goodUntil),
    suspect: () => {
      isSuspect = true;
    },
    untilComplete: async () => {
      if (isChecked && !isSuspect) return;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      waiting.push(() => {
        resolve(undefined);
      });
      await promise;
    },
  };
}

interface LeaseOptions {
  readonly marks: Marks;
  /** Names the lease. One process at a time has it. */
  readonly kind: string;
  /** Names this process. */
  readonly holder: string;
  readonly onFailure: (error: unknown) => void;
}

const renewMs = 2000;
/** After this time without renewal, by the server's clock, a lease has expired. */
const leaseMs = 8000;

/**
 * Does `work` unless another process has the lease. A process that is frozen for longer than the lease may work at the same time as
 * the next holder, so `work` must be harmless when it is done twice.
 * @returns whether `work` was done.
 * @throws Unavailable when the store of the lease cannot be reached.
 */
async function withLease(
  { marks, kind, holder, onFailure }: LeaseOptions,
  work: () => Promise<void>,
): Promise<boolean> {
  const take = async (): Promise<boolean> => {
    const current = await marks.read(kind);
    const now = await marks.readClock();
    if (current && current.value !== holder && current.updatedAt > now - leaseMs) return false;
    await marks.write(kind, '', holder);
    return true;
  };
  if (!(await marks.hold(kind, take))) return false;
  const renewing = every(renewMs, async () => marks.write(kind, '', holder), onFailure);
  try {
    await work();
    return true;
  } finally {
    await renewing[Symbol.asyncDispose]();
    // A lease that cannot be released expires.
    await marks.clear(kind, '').catch(onFailure);
  }
}
