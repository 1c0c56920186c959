/** Bounds the requests, failed authentications and open streams of each caller. */
export { addressOf, callerOf } from './caller.ts';
export { withFallback } from './fallback.ts';
export { openInProcessCounter } from './in-process.ts';
export type { Counter } from './port.ts';
export { failureRate, requestRate, requestTaker, streamSlots, type TakeRequest } from './rates.ts';
export { openRedisCounter } from './redis.ts';
export { limitSettings, requestsOf } from './settings.ts';
