/** An idempotent request on record. */
export interface IdempotencyRecord {
  readonly bodyHash: string;
  /** Absent until the request has ended. */
  readonly reply?: Uint8Array;
  /** When the first request with its key began: milliseconds since 1970. */
  readonly at: number;
}

/** An idempotent request that begins. */
export interface NewIdempotencyRecord {
  readonly bodyHash: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The caller's id of this call, a UUID: the same call made again finds its own record and gets the same result. */
  readonly attempt?: string;
  /** Its reply, when that is known from the beginning. */
  readonly reply?: Uint8Array;
}

/** The port of the requests that carry an idempotency key. */
export interface IdempotencyRecords {
  /**
   * Puts the request on record if its key is new or was released, and returns `undefined`; returns the record under the key
   * otherwise. A released key keeps its body hash: a request with another hash changes nothing and gets the record.
   */
  readonly beginRequest: (
    owner: string,
    key: string,
    record: NewIdempotencyRecord,
  ) => Promise<IdempotencyRecord | undefined>;
  /** Keeps the reply. Without a reply the key is released, unless it has a reply: the next request begins as the first did. */
  readonly endRequest: (owner: string, key: string, reply: Uint8Array | undefined) => Promise<void>;
  /** Forgets requests that began before `time` (milliseconds since 1970), at most `limit` of them. */
  readonly expireRequests: (time: number, limit: number) => Promise<void>;
}
