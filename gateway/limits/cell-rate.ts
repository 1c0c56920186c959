import type { Rate, RateState } from './port.ts';

/**
 * The generic cell rate algorithm (ITU-T I.371, annex A, "virtual scheduling"). It keeps one number per key, the backlog: the
 * time after which everything that was taken has drained. It allows `limit` at once and then one every `windowMs / limit`, so
 * there is no start of a window to wait for.
 */
export const intervalOf = ({ limit, windowMs }: Rate): number => windowMs / limit;

/** The largest allowed backlog. Half an interval absorbs rounding: one more than the limit would need a whole interval. */
export const largestOf = (rate: Rate): number => rate.windowMs + intervalOf(rate) / 2;

/** The state of a key with this backlog. */
export function rateStateOf(allowed: boolean, backlogMs: number, rate: Rate): RateState {
  const interval = intervalOf(rate);
  const room = rate.windowMs - backlogMs;
  return {
    allowed,
    remaining: Math.max(0, Math.floor(room / interval + 0.5)),
    resetMs: backlogMs,
    retryAfterMs: backlogMs + interval <= largestOf(rate) ? 0 : interval - room,
  };
}
