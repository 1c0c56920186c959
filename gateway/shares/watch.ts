import { within } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { toShareId, type Share, type ShareKey } from './share.ts';
import { findShare } from './shares.ts';

type Calls = Pick<ResourceCalls, 'getResource'>;

/** What goes on by a share. */
interface Holder {
  /** Whether the share, as it is now, still lets it go on. */
  readonly mayGoOn: (share: Share) => boolean;
  readonly end: () => void;
}

interface Watched {
  readonly holders: Set<Holder>;
  readonly timer: NodeJS.Timeout;
}

/** How often a share is read while something goes on by it, and how long one read may take, in milliseconds. */
const readMs = 1000;
/** So long after the begin of the last read that found the share what goes on by it ends, where the record does not answer: 5 s after a share has ended nothing is delivered. */
const goodMs = 3500;

const watches = new WeakMap<Calls, Map<string, Watched>>();

/** Calls `end` once, when a share ends or is revoked or that can no longer be known; until disposed. One read a second serves all of one share. */
export function watchShare(threads: Calls, key: ShareKey, holder: Holder): Disposable {
  const all = watches.get(threads) ?? new Map<string, Watched>();
  watches.set(threads, all);
  const id = toShareId(key);
  const watched = all.get(id) ?? begin(threads, key);
  all.set(id, watched);
  watched.holders.add(holder);
  return {
    [Symbol.dispose]: () => {
      watched.holders.delete(holder);
      if (watched.holders.size > 0) return;
      clearInterval(watched.timer);
      if (all.get(id) === watched) all.delete(id);
    },
  };
}

function begin(threads: Calls, key: ShareKey): Watched {
  const holders = new Set<Holder>();
  let foundAt = performance.now();
  let isReading = false;
  const endThose = (isOver: (holder: Holder) => boolean): void => {
    for (const holder of [...holders].filter(isOver)) {
      holders.delete(holder);
      holder.end();
    }
  };
  const read = async (): Promise<void> => {
    if (performance.now() - foundAt > goodMs) endThose(() => true);
    if (isReading) return;
    isReading = true;
    const begunAt = performance.now();
    try {
      const share = await findShare(threads, key, within(readMs));
      endThose(({ mayGoOn }) => !share || !mayGoOn(share));
      foundAt = begunAt;
    } catch {
      // It is read again, and counts no longer after a while.
    } finally {
      isReading = false;
    }
  };
  return { holders, timer: setInterval(() => void read(), readMs).unref() };
}
