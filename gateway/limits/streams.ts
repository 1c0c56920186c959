import { ServiceError } from '@agent-workflow/kit/errors';
import type { Context } from '../http/context.ts';
import type { Counter } from './port.ts';
import { callerOf } from './rates.ts';

interface StreamsOptions {
  readonly counter: Counter;
  /** Concurrent streams per principal; 0 is without a bound. */
  readonly limit: number;
  readonly hops: number;
}

/**
 * Bounds the open streams of each principal: takes a slot for one. A stream holds its slot until its last byte was sent or its
 * reader disconnected.
 * @throws RateLimited when no slot is free.
 */
export function streamSlots({ counter, limit, hops }: StreamsOptions): (ctx: Context) => Promise<void> {
  if (limit === 0) return () => Promise.resolve();
  return async (ctx) => {
    const slot = await counter.acquire(`streams ${callerOf(ctx, hops)}`, limit);
    if (!slot) throw new ServiceError('RateLimited', `${String(limit)} streams are open, which is the limit`);
    const release = (): void => void slot.release();
    // For a caller that disconnected during `acquire` the event `close` has already been emitted.
    if (ctx.res.closed) release();
    else ctx.res.once('close', release);
  };
}
