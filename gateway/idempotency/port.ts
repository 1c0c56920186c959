/** The reply that a request was given which is done once, and the hash of the body it had. */
export interface KeptReply {
  readonly bodyHash: string;
  /** JSON text. */
  readonly replyJson: Uint8Array;
}

/**
 * Replies to requests that are done once, by their key, in front of the record of the threads service. It is a cache:
 * what it does not have is asked of the record. One whose store is away has nothing and keeps nothing; no call rejects.
 */
export interface OnceCache extends AsyncDisposable {
  readonly get: (key: string) => Promise<KeptReply | undefined>;
  /** Keeps a reply for `onceMs` from now, or less. */
  readonly put: (key: string, reply: KeptReply) => Promise<void>;
}

/** How long a request counts as the same that comes again under its key, in milliseconds. */
export const onceMs = 24 * 60 * 60 * 1000;
