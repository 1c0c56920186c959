/** How often something may be done: `limit` times in a window, all of them at once if need be. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** How a key stands with its rate. Times are durations from now by the counter's own clock, in milliseconds. */
export interface Standing {
  /** Whether what was asked for was given. What was refused is not counted. */
  readonly allowed: boolean;
  /** How many more would be given at this moment. */
  readonly remaining: number;
  /** Time until the whole limit is there again when nothing more is taken. */
  readonly resetMs: number;
  /** Time until one more is given; 0 when it would be now. */
  readonly retryAfterMs: number;
}

/** One of the places that a key may hold at once. */
export interface Hold {
  /** Gives the place back; a second call does nothing. It never rejects: a store that is away forgets the place by itself. */
  readonly release: () => Promise<void>;
}

/**
 * Counts what callers do, by key. Every call is atomic: of two at once that find one place left, one is refused. A
 * counter is no record: what it forgets (its process ends, or keys become too many) is as if it had not been. `take` rejects
 * with `Unavailable` when what it counts in is away.
 */
export interface Counter extends AsyncDisposable {
  /** Takes `cost` (1) from the rate of a key; a cost of 0 tells how it stands and takes nothing. */
  readonly take: (key: string, rate: Rate, cost?: number) => Promise<Standing>;
  /**
   * Takes one of `limit` places that the key may hold at once; `undefined` when all are held. A place is held until it is
   * released or its process has died, never longer than 5 seconds after that. While what is counted in is away, each process
   * gives the whole limit, and counts its places there again when it is back.
   */
  readonly hold: (key: string, limit: number) => Promise<Hold | undefined>;
}
