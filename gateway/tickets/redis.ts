import type { Redis } from '../redis/redis.ts';
import { ticketMs, type TicketGrant, type TicketStore } from './port.ts';

/** Stores tickets in Redis, which expires them. */
export function openRedisTicketStore(redis: Redis): TicketStore {
  const keyOf = (hash: string): string => redis.key(`ticket:${hash}`);
  return {
    put: async (hash, { owner, runId }) => {
      await redis.send('SET', keyOf(hash), JSON.stringify([owner, runId]), 'PX', String(ticketMs));
    },
    get: async (hash) => toGrant(await redis.send('GET', keyOf(hash))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function toGrant(value: unknown): TicketGrant | undefined {
  if (typeof value !== 'string') return undefined;
  const [owner, runId] = JSON.parse(value) as [string, string];
  return { owner, runId };
}
