/** What a ticket permits in the name of its owner: to follow the stream of one run, or to talk about one thread. */
export type TicketGrant = {
  readonly owner: string;
  /** The id of the API key by which its maker had come: it counts as long as that does. */
  readonly keyId?: string;
} & (
  | { readonly runId: string }
  | {
      readonly threadId: string;
      /** As nodes see the user. */
      readonly user?: Readonly<Record<string, unknown>>;
      /** When the credentials of its maker expire, in milliseconds since 1970: the connection ends then. */
      readonly until?: number;
    }
);

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
