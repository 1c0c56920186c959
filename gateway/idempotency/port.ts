/** The reply to an idempotent request, and the hash of the request's body. */
export interface CachedReply {
  readonly bodyHash: string;
  /** JSON text. */
  readonly replyJson: Uint8Array;
}

/**
 * Replies to idempotent requests by key: a cache in front of the record of the threads service. While its store is unavailable it
 * returns nothing and stores nothing; no call rejects.
 */
export interface ReplyCache extends AsyncDisposable {
  readonly get: (key: string) => Promise<CachedReply | undefined>;
  /** Stores a reply for `replyTtlMs`, or less. */
  readonly put: (key: string, reply: CachedReply) => Promise<void>;
}

/** How long an idempotency key is valid, in milliseconds. */
export const replyTtlMs = 24 * 60 * 60 * 1000;
