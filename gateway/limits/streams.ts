import { ServiceError } from '@agent-workflow/kit/errors';
import type { Middleware } from '../http/context.ts';
import type { Counter } from './port.ts';
import { callerOf } from './rates.ts';

export interface StreamsOptions {
  readonly counter: Counter;
  /** Streams of one principal at once; 0 is without a bound. */
  readonly limit: number;
  readonly hops: number;
}

/** Bounds the streams that one principal has open. A place is held until the last byte has left or the reader has. */
export function boundedStreams({ counter, limit, hops }: StreamsOptions): Middleware {
  if (limit === 0) return (_ctx, next) => next();
  return async (ctx, next) => {
    const hold = await counter.hold(`streams ${callerOf(ctx, hops)}`, limit);
    if (!hold) throw new ServiceError('RateLimited', `${String(limit)} streams are open, which is as many as may be`);
    const release = (): void => void hold.release();
    // Whoever left while the place was sought is not told so again.
    if (ctx.res.closed) release();
    else ctx.res.once('close', release);
    await next();
  };
}
