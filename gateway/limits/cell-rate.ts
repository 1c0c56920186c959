import type { Rate, Standing } from './port.ts';

/**
 * The generic cell rate algorithm (ITU-T I.371, annex A, "virtual scheduling"), whose one number for each key is its
 * backlog: the time in which all that was taken will have flowed off. It gives `limit` at once and then one every
 * `windowMs / limit`: nobody can wait for a window to begin anew.
 */
export const intervalOf = ({ limit, windowMs }: Rate): number => windowMs / limit;

/** The largest backlog that may be. Half an interval is left to rounding: one more than the limit would need a whole one. */
export const largestOf = (rate: Rate): number => rate.windowMs + intervalOf(rate) / 2;

/** How a key with this backlog stands. */
export function standingOf(allowed: boolean, backlogMs: number, rate: Rate): Standing {
  const interval = intervalOf(rate);
  const room = rate.windowMs - backlogMs;
  return {
    allowed,
    remaining: Math.max(0, Math.floor(room / interval + 0.5)),
    resetMs: backlogMs,
    retryAfterMs: backlogMs + interval <= largestOf(rate) ? 0 : interval - room,
  };
}
