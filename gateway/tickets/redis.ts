import type { Redis } from '../redis/redis.ts';
import { ticketMs, type Admission, type TicketStore } from './port.ts';

/** Keeps tickets in Redis, which forgets them in time. */
export function openRedisTicketStore(redis: Redis): TicketStore {
  const keyOf = (hash: string): string => redis.key(`ticket:${hash}`);
  return {
    put: async (hash, { owner, runId }) => {
      await redis.send('SET', keyOf(hash), JSON.stringify([owner, runId]), 'PX', String(ticketMs));
    },
    get: async (hash) => toAdmission(await redis.send('GET', keyOf(hash))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function toAdmission(kept: unknown): Admission | undefined {
  if (typeof kept !== 'string') return undefined;
  const [owner, runId] = JSON.parse(kept) as [string, string];
  return { owner, runId };
}
