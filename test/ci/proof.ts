/**
 * Whether a failure shows a fault of the product by itself, so that a pass of the same test afterwards excuses nothing: a
 * counterexample that fast-check found, or data that was lost, doubled or mixed up. A test says the latter by how the message of its assertion begins
 * (`lost: …`, `doubled: …`, `mixed: …`).
 */
export const isProof = ({ message, stack }: { readonly message: string; readonly stack: string }): boolean =>
  /^(?:Error: )?(?:(?:lost|doubled|mixed): |Property failed after)/.test(message) ||
  // ava reports the assertion that failed within a property in place of the error that fast-check made of it.
  stack.includes('/node_modules/fast-check/');
