/** What a ticket lets its holder into: the stream of one run, in the name of the run's owner. */
export interface Admission {
  readonly owner: string;
  readonly runId: string;
}

/**
 * Tickets by their hashes: whoever reads the store can use none of them. It is no record: an owner whose ticket is
 * forgotten makes another. Every call rejects with `Unavailable` when the store is away.
 */
export interface TicketStore extends AsyncDisposable {
  /** Keeps an admission for `ticketMs` from now. */
  readonly put: (hash: string, admission: Admission) => Promise<void>;
  /** What the ticket of this hash lets into, as often as it is asked; `undefined` when there is none, or not any more. */
  readonly get: (hash: string) => Promise<Admission | undefined>;
}

/** How long a ticket lasts, in milliseconds. */
export const ticketMs = 10 * 60 * 1000;
