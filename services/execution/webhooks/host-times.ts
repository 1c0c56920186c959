import { LRUCache } from 'lru-cache';

/** What this process has seen of hosts: how long an attempt takes there, and what waits for it on record. All times are in milliseconds. */
interface HostTimes {
  /** How long an attempt is expected to take; a guess where there was none. */
  readonly usualMs: (host: string) => number;
  /** An attempt there took so long. */
  readonly took: (host: string, ms: number) => void;
  /** How long something waits on record until it is looked at again: as long as those before it are expected to take. */
  readonly laterMs: (host: string, id: string) => number;
  /** Forgets what was asked with `laterMs`. */
  readonly forget: (host: string, id: string) => void;
}

interface HostTimesOptions {
  /** How many attempts one host has at once. */
  readonly perHost: number;
  /** How much is remembered that waits, for one host and for all; the oldest is forgotten. */
  readonly mostAtHost?: number;
  readonly mostInAll?: number;
  readonly now?: () => number;
}

interface Known {
  usualMs: number;
  /** When what waits on record is due, by its id, the oldest first. Most hosts have nothing that waits. */
  readonly due: Map<string, number>;
}

const hosts = { max: 10_000, ttl: 10 * 60_000 };
const shareOfLast = 0.2;
/** How long an attempt is taken to last before one has: a burst of deliveries is looked at again soon. */
const firstGuessMs = 100;
const soonestMs = 1000;
const longestMs = 10 * 60_000;
/** What was due so long ago, and was not looked at here, has gone through another replica. */
const overdueMs = 30_000;

export function createHostTimes({
  perHost,
  mostAtHost = 10_000,
  mostInAll = 50_000,
  now = () => performance.now(),
}: HostTimesOptions): HostTimes {
  /** The hosts for which something waits; the one that was asked for last is the last. */
  const waitedFor = new Set<Known>();
  let inAll = 0;

  const known = new LRUCache<string, Known>({
    ...hosts,
    noDisposeOnSet: true,
    dispose: (gone) => {
      inAll -= gone.due.size;
      waitedFor.delete(gone);
    },
  });

  const knownOf = (name: string): Known => {
    const found = known.get(name) ?? { usualMs: firstGuessMs, due: new Map<string, number>() };
    known.set(name, found);
    return found;
  };

  const drop = (host: Known, id: string): void => {
    if (!host.due.delete(id)) return;
    inAll -= 1;
    if (host.due.size === 0) waitedFor.delete(host);
  };

  const dropOverdue = (host: Known): void => {
    for (const [id, dueAt] of host.due) {
      if (dueAt > now() - overdueMs) return;
      drop(host, id);
    }
  };

  const dropOldest = (host: Known): void => {
    const [oldest] = host.due.keys();
    if (oldest !== undefined) drop(host, oldest);
  };

  const remember = (host: Known, id: string, dueAt: number): void => {
    host.due.set(id, dueAt);
    inAll += 1;
    waitedFor.delete(host);
    waitedFor.add(host);
    if (host.due.size > mostAtHost) dropOldest(host);
    const [first] = waitedFor;
    if (inAll > mostInAll && first) dropOldest(first);
  };

  return {
    usualMs: (name) => known.get(name)?.usualMs ?? firstGuessMs,
    took: (name, ms) => {
      const host = knownOf(name);
      host.usualMs += shareOfLast * (ms - host.usualMs);
    },
    laterMs: (name, id) => {
      const host = knownOf(name);
      dropOverdue(host);
      drop(host, id);
      const ms = Math.ceil(Math.min(longestMs, soonestMs + (host.usualMs * (host.due.size + 1)) / perHost));
      remember(host, id, now() + ms);
      return ms;
    },
    forget: (name, id) => {
      const host = known.get(name);
      if (host) drop(host, id);
    },
  };
}
