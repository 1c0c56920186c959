/** The longest stream, one day, in milliseconds. */
export const streamMs = 24 * 60 * 60 * 1000;

/** Most runs of a short graph end within this time, in milliseconds, and take one call less. */
export const awaitEndMs = 200;

/**
 * What a run is given whose thread is not to stay: it goes with the run, and where that asks for something it is kept for a day for the answer.
 * `ttl` is in seconds.
 */
export const unkept = { on_completion: 'delete', ttl: 24 * 60 * 60 } as const;
