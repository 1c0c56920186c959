import type { Delivery } from '@agent-workflow/protos/webhooks';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The waits after each failed attempt; the last one is repeated. */
const waits = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
];
const longestWaitMs = 8 * hourMs;
const triedForMs = 3 * 24 * hourMs;
const jitter = 0.2;

/** When the next attempt follows one that failed, in milliseconds since 1970; `undefined`: none does. */
export function nextAttempt(
  { since, attempts }: Pick<Delivery, 'since' | 'attempts'>,
  { now, retryAfterMs = 0 }: { readonly now: number; readonly retryAfterMs?: number | undefined },
): number | undefined {
  const wait = (waits[attempts - 1] ?? longestWaitMs) * (1 + jitter * (2 * Math.random() - 1));
  const at = Math.ceil(now + Math.max(wait, Math.min(retryAfterMs, longestWaitMs)));
  return at > since + triedForMs ? undefined : at;
}
