/** What a ticket permits: to follow the stream of one run in the name of its owner. */
export interface TicketGrant {
  readonly owner: string;
  readonly runId: string;
}

/**
 * Grants by the hash of their ticket: nobody who reads the store can use a ticket. It is no record: an owner whose ticket is
 * lost makes another. Every call rejects with `Unavailable` while the store cannot be reached.
 */
export interface TicketStore extends AsyncDisposable {
  /** Stores a grant for `ticketMs`. */
  readonly put: (hash: string, grant: TicketGrant) => Promise<void>;
  /** The grant of the ticket with this hash, any number of times; `undefined` when there is none or it has expired. */
  readonly get: (hash: string) => Promise<TicketGrant | undefined>;
}

/** How long a ticket is valid, in milliseconds. */
export const ticketMs = 10 * 60 * 1000;
