/** How often something may be done: `limit` times per window, also all at once. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** The state of a key's rate. Times are durations from now by the counter's own clock, in milliseconds. */
export interface RateState {
  /** Whether the request was within the rate. What is refused is not counted. */
  readonly allowed: boolean;
  /** How many more would be allowed now. */
  readonly remaining: number;
  /** Time until the whole limit is available again, if nothing more is taken. */
  readonly resetMs: number;
  /** Time until one more is allowed; 0 when it is allowed now. */
  readonly retryAfterMs: number;
}

/** One of the slots that a key may hold at the same time. */
export interface Slot {
  /** Returns the slot; a second call does nothing. It never rejects: a store that is unavailable drops the slot when its lease ends. */
  readonly release: () => Promise<void>;
}

/**
 * Counts what callers do, by key. Every call is atomic: of two calls at the same time for one free slot, one is refused. The
 * counts are no record: they are lost when the process ends or there are too many keys. `take` rejects with `Unavailable` when
 * the store of the counts is unavailable.
 */
export interface Counter extends AsyncDisposable {
  /** Takes `cost` (1) from the rate of a key. A cost of 0 takes nothing and only gives the state. */
  readonly take: (key: string, rate: Rate, cost?: number) => Promise<RateState>;
  /**
   * Acquires one of `limit` slots of the key; `undefined` when none is free. A slot is held until it is released, or at most
   * 5 seconds after its process died. While the store is unavailable, each process has the whole limit for itself; the slots that it
   * acquired then are counted in the store when it is back.
   */
  readonly acquire: (key: string, limit: number) => Promise<Slot | undefined>;
}
