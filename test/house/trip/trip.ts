/** What the service enters on the way of one request or event. */
export interface Trip {
  /** Those of the product, as paths from the root. */
  readonly files: readonly string[];
  readonly functions: number;
  readonly calls: number;
  /** How often a call is in another workspace than the one before it. */
  readonly changes: number;
}
