import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import { isOfEvents, openPaths } from '../http/access.ts';
import type { Context, Middleware } from '../http/context.ts';
import { addressOf, callerOf } from './caller.ts';
import type { Counter, Rate, RateState } from './port.ts';

interface RateOptions {
  readonly counter: Counter;
  readonly rate: Rate;
  /** Trusted proxies in front of the gateway. */
  readonly hops: number;
}

export type TakeRequest = (ctx: Context) => Promise<void>;

/** Counts a request for its principal. @throws RateLimited */
export function requestTaker({ counter, rate, hops }: RateOptions): TakeRequest {
  return async (ctx) => {
    const rateState = await counter.take(`requests ${callerOf(ctx, hops)}`, rate);
    setRateHeaders(ctx, rate, rateState);
    if (!rateState.allowed) throw refusal('too many requests', rate, rateState);
  };
}

/**
 * Bounds the requests of each principal, and puts the state of its rate into the headers of every reply. Probes are never
 * refused: the platform would restart the process.
 */
export function requestRate(take: TakeRequest): Middleware {
  return async (ctx, next) => {
    if (!openPaths.has(ctx.path)) await take(ctx);
    // Not awaited: what has been done here need not stand in memory as long as the request.
    return next() as Promise<unknown>;
  };
}

/**
 * Bounds the failed authentications of an address. Beyond the bound all its requests are refused unread, so that it can neither
 * guess tokens nor keep an authentication backend busy. Concurrent requests may exceed the bound by their number.
 */
export function failureRate({ counter, rate, hops }: RateOptions): Middleware {
  return async (ctx, next) => {
    const key = `failures ${addressOf(ctx, hops)}${eventsOf(ctx.path)}`;
    const rateState = await counter.take(key, rate, 0);
    if (!rateState.allowed && !openPaths.has(ctx.path))
      throw refusal('too many failed authentications', rate, rateState);
    try {
      await next();
    } catch (error) {
      if (isServiceError(error, 'Unauthenticated')) await counter.take(key, rate);
      throw error;
    }
  };
}

/** Senders have few addresses for all whom they send to: what has the wrong secret at one trigger does not hold up the events of others. */
const eventsOf = (path: string): string => (isOfEvents(path) ? ` ${path.slice(0, 64)}` : '');

/** The headers of draft-ietf-httpapi-ratelimit-headers (version 06): counts, and seconds from now. */
function setRateHeaders({ state }: Context, rate: Rate, { remaining, resetMs }: RateState): void {
  state.headers.push('RateLimit-Limit', String(rate.limit));
  state.headers.push('RateLimit-Remaining', String(remaining));
  state.headers.push('RateLimit-Reset', String(Math.ceil(resetMs / 1000)));
}

const refusal = (what: string, { limit, windowMs }: Rate, { retryAfterMs }: RateState): ServiceError =>
  new ServiceError('RateLimited', `${what}: ${String(limit)} in ${String(windowMs / 1000)} s are allowed`, {
    retryAfterMs,
  });

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
