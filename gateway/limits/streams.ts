import { ServiceError } from '@agent-workflow/kit/errors';
import type { Middleware } from '../http/context.ts';
import type { Counter } from './port.ts';
import { callerOf } from './rates.ts';

interface StreamsOptions {
  readonly counter: Counter;
  /** Concurrent streams per principal; 0 is without a bound. */
  readonly limit: number;
  readonly hops: number;
}

/** Bounds the open streams of each principal. A stream holds its slot until its last byte was sent or its reader disconnected. */
export function boundedStreams({ counter, limit, hops }: StreamsOptions): Middleware {
  if (limit === 0) return (_ctx, next) => next();
  return async (ctx, next) => {
    const slot = await counter.acquire(`streams ${callerOf(ctx, hops)}`, limit);
    if (!slot) throw new ServiceError('RateLimited', `${String(limit)} streams are open, which is the limit`);
    const release = (): void => void slot.release();
    // For a caller that disconnected during `acquire` the event `close` has already been emitted.
    if (ctx.res.closed) release();
    else ctx.res.once('close', release);
    await next();
  };
}
