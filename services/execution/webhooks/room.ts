import type { Log } from '@agent-workflow/kit/log';
import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { webhookBounds } from '@agent-workflow/protos/webhooks';
import { LRUCache } from 'lru-cache';

/** How long a count is taken to hold, in milliseconds, and of how many owners it is remembered. */
const countedMs = 10_000;
const countedOwners = 10_000;

const reports = {
  delivery: 'an owner has too many deliveries that wait: its further events are dead letters',
  dead_letter: 'an owner has too many dead letters: nothing is kept of its further ones',
} as const;

type Counted = keyof typeof reports;

/** Bounds what is kept for one owner. */
export interface Room {
  /** Whether one more may be kept. */
  readonly hasRoom: (kind: Counted, owner: string, call: Call) => Promise<boolean>;
  /** The same, and counts it as kept when it may be. */
  readonly takeRoom: (kind: Counted, owner: string, call: Call) => Promise<boolean>;
}

export function createRoom(threads: Pick<ResourceCalls, 'countResources'>, log: Pick<Log, 'warn'>): Room {
  const { pending: atMost } = webhookBounds;
  const counts = new LRUCache<string, { count: number }>({ max: countedOwners, ttl: countedMs });

  const read = async (kind: Counted, owner: string, call: Call): Promise<{ count: number }> => {
    const name = `${kind} ${owner}`;
    const known = counts.get(name);
    if (known) return known;
    const { count } = await threads.countResources({ kind, owner, atMost }, call);
    if (count >= atMost) log.warn({ owner }, reports[kind]);
    const read = { count };
    counts.set(name, read);
    return read;
  };

  return {
    hasRoom: async (kind, owner, call) => (await read(kind, owner, call)).count < atMost,
    takeRoom: async (kind, owner, call) => {
      const known = await read(kind, owner, call);
      if (known.count >= atMost) return false;
      known.count += 1;
      return true;
    },
  };
}
