/**
 * The results of branches, as JSON. The caller of a step stores them, so that they outlive the attempt. All attempts at one branch
 * have the same key.
 */
export interface BranchRecords {
  /** The result of an earlier attempt at the step; `undefined` when there is none. */
  readonly find: (key: string) => Promise<string | undefined>;
  /** Resolves when the result is stored. @throws an error that ends the step, whatever its reason. */
  readonly save: (key: string, result: string) => Promise<void>;
}
