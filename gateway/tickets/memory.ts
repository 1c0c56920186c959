import { LRUCache } from 'lru-cache';
import { ticketMs, type Admission, type TicketStore } from './port.ts';

export interface MemoryTicketStoreOptions {
  /** Tickets that are kept; those that were not used for longest are forgotten first. */
  readonly maxTickets?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** Keeps tickets in this process. */
export function openMemoryTicketStore({
  maxTickets = 100_000,
  now = () => performance.now(),
}: MemoryTicketStoreOptions = {}): TicketStore {
  const kept = new LRUCache<string, { readonly admission: Admission; readonly until: number }>({ max: maxTickets });
  return {
    put: (hash, admission) => {
      kept.set(hash, { admission, until: now() + ticketMs });
      return Promise.resolve();
    },
    get: (hash) => {
      const found = kept.get(hash);
      return Promise.resolve(found && now() < found.until ? found.admission : undefined);
    },
    [Symbol.asyncDispose]: () => {
      kept.clear();
      return Promise.resolve();
    },
  };
}
