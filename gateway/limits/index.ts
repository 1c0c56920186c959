/** Counts what callers do: their requests, their failures to sign in, and the streams that they have open. */
export { addressOf } from './address.ts';
export { withFallback } from './fallback.ts';
export { openMemoryCounter } from './memory.ts';
export type { Counter, Hold, Rate, Standing } from './port.ts';
export { callerOf, failureRate, requestRate } from './rates.ts';
export { openRedisCounter } from './redis.ts';
export { limitSettings, requestsOf, type LimitConfig } from './settings.ts';
export { boundedStreams } from './streams.ts';
