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

/** Bounds what is kept for one owner. */
export interface Room {
  /** Whether one more may be kept, which is then counted as if it were. */
  readonly hasRoom: (kind: 'delivery' | 'dead_letter', owner: string, call: Call) => Promise<boolean>;
}

export function createRoom(threads: Pick<ResourceCalls, 'countResources'>, log: Pick<Log, 'warn'>): Room {
  const counts = new LRUCache<string, { count: number }>({ max: countedOwners, ttl: countedMs });
  return {
    hasRoom: async (kind, owner, call) => {
      const { pending: atMost } = webhookBounds;
      const name = `${kind} ${owner}`;
      let known = counts.get(name);
      if (!known) {
        const { count } = await threads.countResources({ kind, owner, atMost }, call);
        known = { count };
        counts.set(name, known);
        if (count >= atMost) log.warn({ owner }, reports[kind]);
      }
      known.count += 1;
      return known.count <= atMost;
    },
  };
}
