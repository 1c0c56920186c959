/** Bounds the requests, failed authentications and open streams of each caller. */
export { addressOf } from './address.ts';
export { withFallback } from './fallback.ts';
export { openMemoryCounter } from './memory.ts';
export type { Counter, Rate } from './port.ts';
export { callerOf, failureRate, requestRate } from './rates.ts';
export { openRedisCounter } from './redis.ts';
export { limitSettings, requestsOf } from './settings.ts';
export { boundedStreams } from './streams.ts';
