/**
 * Whether a call without an answer may be repeated, also at another replica. Above each `rpc` of a `.proto` is the line `// retry: …`
 * with one of these words:
 * - `safe`: a second call changes nothing that the first did not change;
 * - `attempt`: the request has an `attempt_id`; the store makes the effect of one id once, and gives the same reply again;
 * - `never`: a second call may make the effect twice.
 */
export const retries = ['safe', 'attempt', 'never'] as const;
type Retry = (typeof retries)[number];

/** The mark of one RPC. */
export interface RetryRule {
  readonly retry: Retry;
  /**
   * Whether a good answer may take seconds (`, takes long` after the word). Such a call is repeated when its connection is lost or its
   * replica is silent, and never because it is slow.
   */
  readonly takesLong: boolean;
}
