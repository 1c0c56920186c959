/** What every call carries beside its request. */
export interface Call {
  /** Milliseconds since 1970 UTC; after it the caller has `Timeout`, whatever becomes of the work. */
  readonly deadline: number;
  /** Fires when the caller went away or the deadline passed. */
  readonly signal: AbortSignal;
}

/** Never fires: for calls that belong to the process itself. */
export const never: AbortSignal = new AbortController().signal;

/** A call that may take `ms` milliseconds from now. */
export const within = (ms: number, signal: AbortSignal = never): Call => ({ deadline: Date.now() + ms, signal });
