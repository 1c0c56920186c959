import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import { anonymousOwner } from '@agent-workflow/kit/ids';
import { openPaths } from '../http/access.ts';
import type { Context, Middleware } from '../http/context.ts';
import { addressOf } from './address.ts';
import type { Counter, Rate, Standing } from './port.ts';

export interface RateOptions {
  readonly counter: Counter;
  readonly rate: Rate;
  /** Proxies in front that are trusted. */
  readonly hops: number;
}

/** What a caller counts as: the owner, or the address of one that has no name. */
export const callerOf = (ctx: Context, hops: number): string =>
  ctx.state.principal.owner === anonymousOwner ? `@${addressOf(ctx, hops)}` : ctx.state.principal.owner;

/**
 * Bounds the requests of each principal, and tells it how it stands with every reply. Probes of the process are never
 * refused: a platform would end it for that.
 */
export function requestRate({ counter, rate, hops }: RateOptions): Middleware {
  return async (ctx, next) => {
    if (!openPaths.has(ctx.path)) {
      const standing = await counter.take(`requests ${callerOf(ctx, hops)}`, rate);
      tell(ctx, rate, standing);
      if (!standing.allowed) throw refusal('too many requests', rate, standing);
    }
    await next();
  };
}

/**
 * Bounds how often an address may fail to say who it is. Beyond that nothing it sends is looked at: neither is a token
 * guessed there, nor a backend kept busy. Requests that are under way at once may each still fail.
 */
export function failureRate({ counter, rate, hops }: RateOptions): Middleware {
  return async (ctx, next) => {
    const key = `failures ${addressOf(ctx, hops)}`;
    const standing = await counter.take(key, rate, 0);
    if (!standing.allowed && !openPaths.has(ctx.path)) throw refusal('too many failed authentications', rate, standing);
    try {
      await next();
    } catch (error) {
      if (isServiceError(error, 'Unauthenticated')) await counter.take(key, rate);
      throw error;
    }
  };
}

/** The fields of draft-ietf-httpapi-ratelimit-headers (version 06): counts, and seconds from now. */
function tell({ state }: Context, rate: Rate, { remaining, resetMs }: Standing): void {
  state.headers.push('RateLimit-Limit', String(rate.limit));
  state.headers.push('RateLimit-Remaining', String(remaining));
  state.headers.push('RateLimit-Reset', String(Math.ceil(resetMs / 1000)));
}

const refusal = (what: string, { limit, windowMs }: Rate, { retryAfterMs }: Standing): ServiceError =>
  new ServiceError('RateLimited', `${what}: ${String(limit)} in ${String(windowMs / 1000)} s are let through`, {
    retryAfterMs,
  });
