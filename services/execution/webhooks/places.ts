import { createHostTimes } from './host-times.ts';

/** Takes the place again that an attempt had; `tookMs` is how long it took, absent where none was made. */
export type FreePlace = (tookMs?: number) => void;

/** The attempts under way, at most some to one host: one that hangs or fails holds up no other. */
interface Places extends Disposable {
  /**
   * A place for one attempt: at once, or a promise of one, which resolves with nothing where none came free in time or these places are disposed of.
   * `undefined`: so much waits, or will take so long, that what is to be sent there is better looked at later.
   */
  readonly take: (host: string, bytes: number) => FreePlace | Promise<FreePlace | undefined> | undefined;
  /** How long something that finds no place waits until it is looked at again, in milliseconds: as long as those before it are expected to take. */
  readonly laterMs: (host: string, id: string) => number;
  /** Forgets what was asked with `laterMs`: it has a place. */
  readonly forget: (host: string, id: string) => void;
}

interface PlacesOptions {
  readonly perHost?: number;
  readonly atOnce?: number;
  /** What may wait in memory for all hosts (count and bytes), and for one. */
  readonly mostWaiting?: number;
  readonly mostWaitingBytes?: number;
  readonly mostWaitingAtHost?: number;
  /** How long it may wait there, in milliseconds. */
  readonly waitMs?: number;
}

interface Waiter {
  readonly bytes: number;
  readonly settle: (place: FreePlace | undefined) => void;
}

/** One host: its attempts, and what waits for it in memory, the first first. */
interface Host {
  readonly name: string;
  taken: number;
  readonly waiting: Set<Waiter>;
}

export function createPlaces({
  perHost = 4,
  atOnce = 256,
  mostWaiting = 1000,
  mostWaitingBytes = 8 * 1024 * 1024,
  mostWaitingAtHost = 100,
  waitMs = 5000,
}: PlacesOptions = {}): Places {
  const busy = new Map<string, Host>();
  const queued = new Set<Host>();
  const times = createHostTimes({ perHost });
  let attempts = 0;
  let waiting = 0;
  let waitingBytes = 0;
  let isClosed = false;

  const isFree = (host: Host): boolean => host.taken < perHost && attempts < atOnce;

  const leave = (host: Host, waiter: Waiter): void => {
    host.waiting.delete(waiter);
    if (host.waiting.size === 0) queued.delete(host);
    if (host.waiting.size === 0 && host.taken === 0) busy.delete(host.name);
    waiting -= 1;
    waitingBytes -= waiter.bytes;
  };

  function occupy(host: Host): FreePlace {
    attempts += 1;
    host.taken += 1;
    busy.set(host.name, host);
    let isHeld = true;
    return (tookMs) => {
      if (!isHeld) return;
      isHeld = false;
      attempts -= 1;
      host.taken -= 1;
      if (tookMs !== undefined) times.took(host.name, tookMs);
      admit(host);
      if (host.taken === 0 && host.waiting.size === 0) busy.delete(host.name);
    };
  }

  /**
   * Gives the place that came free to who waits. While places of all hosts are short, hosts take turns: whose turn it was is the last again. Else
   * only this host can have been without a free one.
   */
  function admit(freed: Host): void {
    const wereShort = attempts + 1 >= atOnce;
    for (const host of wereShort ? queued : [freed]) {
      const [waiter] = host.waiting;
      if (!waiter || !isFree(host)) continue;
      queued.delete(host);
      queued.add(host);
      leave(host, waiter);
      waiter.settle(occupy(host));
      return;
    }
  }

  const wait = async (host: Host, bytes: number): Promise<FreePlace | undefined> => {
    const { promise, resolve } = Promise.withResolvers<FreePlace | undefined>();
    const waiter: Waiter = { bytes, settle: resolve };
    host.waiting.add(waiter);
    busy.set(host.name, host);
    queued.add(host);
    waiting += 1;
    waitingBytes += bytes;
    const timer = setTimeout(() => {
      leave(host, waiter);
      resolve(undefined);
    }, waitMs);
    return promise.finally(() => clearTimeout(timer));
  };

  return {
    take: (name, bytes) => {
      if (isClosed) return undefined;
      const host = busy.get(name) ?? { name, taken: 0, waiting: new Set() };
      if (isFree(host) && host.waiting.size === 0) return occupy(host);
      const expectedMs = (times.usualMs(name) * (host.waiting.size + 1)) / perHost;
      const isFull =
        waiting >= mostWaiting || waitingBytes + bytes > mostWaitingBytes || host.waiting.size >= mostWaitingAtHost;
      return isFull || expectedMs > waitMs ? undefined : wait(host, bytes);
    },
    laterMs: times.laterMs,
    forget: times.forget,
    [Symbol.dispose]: () => {
      isClosed = true;
      for (const host of queued)
        for (const waiter of host.waiting) {
          leave(host, waiter);
          waiter.settle(undefined);
        }
    },
  };
}
