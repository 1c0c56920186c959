/**
 * Whether a call of an RPC that got no answer may be made again at another replica. Each `rpc` of a `.proto` has the line
 * `// retry: …` above it with one of these words:
 * - `safe`: a second call changes nothing that the first did not;
 * - `attempt`: the request carries `attempt_id`, and the store does the work of one such id once and answers the same again;
 * - `never`: a second call may do the work twice.
 */
export const retries = ['safe', 'attempt', 'never'] as const;
type Retry = (typeof retries)[number];

/** The mark of one RPC. */
export interface RetryRule {
  readonly retry: Retry;
  /**
   * Whether its answer may take seconds while all is well (`, takes long` behind the word): it is made again only when its
   * connection is lost or its replica is silent, and never because it is slow.
   */
  readonly takesLong: boolean;
}
