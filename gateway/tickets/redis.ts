import type { Redis } from '../redis/redis.ts';
import { ticketMs, type TicketGrant, type TicketStore } from './port.ts';

/** Stores tickets in Redis, which expires them. */
export function openRedisTicketStore(redis: Redis): TicketStore {
  const keyOf = (hash: string): string => redis.key(`ticket:${hash}`);
  return {
    put: async (hash, { owner, ...of }) => {
      const grant = JSON.stringify([owner, 'runId' in of && of.keyId === undefined ? of.runId : of]);
      await redis.send('SET', keyOf(hash), grant, 'PX', String(ticketMs));
    },
    get: async (hash) => toGrant(await redis.send('GET', keyOf(hash))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function toGrant(value: unknown): TicketGrant | undefined {
  if (typeof value !== 'string') return undefined;
  const [owner, of] = JSON.parse(value) as [
    string,
    string | { readonly runId: string } | { readonly threadId: string },
  ];
  return typeof of === 'string' ? { owner, runId: of } : { owner, ...of };
}
