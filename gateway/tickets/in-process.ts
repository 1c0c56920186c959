import { LRUCache } from 'lru-cache';
import { ticketMs, type TicketGrant, type TicketStore } from './port.ts';

interface InProcessTicketStoreOptions {
  /** Tickets that are stored; the least recently used are evicted first. */
  readonly maxTickets?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** Stores tickets in this process. */
export function openInProcessTicketStore({
  maxTickets = 100_000,
  now = () => performance.now(),
}: InProcessTicketStoreOptions = {}): TicketStore {
  const grants = new LRUCache<string, { readonly grant: TicketGrant; readonly until: number }>({
    // By size: with `max` it would take the memory of all tickets at once.
    ...{ maxSize: maxTickets, sizeCalculation: () => 1 },
  });
  return {
    put: (hash, grant) => {
      grants.set(hash, { grant, until: now() + ticketMs });
      return Promise.resolve();
    },
    get: (hash) => {
      const found = grants.get(hash);
      return Promise.resolve(found && now() < found.until ? found.grant : undefined);
    },
    [Symbol.asyncDispose]: () => {
      grants.clear();
      return Promise.resolve();
    },
  };
}
