/** In a script: milliseconds of Redis's own clock, which is every replica's, as `now`. */
export const readClock = `local clock = redis.call('TIME') local now = clock[1] * 1000 + clock[2] / 1000`;
