import { invalidAt } from '../../../http/fields.ts';

const mostSeconds = 315_360_000;

/** The seconds of a time to live, which a request gives in minutes. @throws Invalid */
export function secondsOf(ttl: unknown): number | undefined {
  if (ttl === undefined || ttl === null) return undefined;
  const { ttl: minutes, strategy = 'delete' } = (typeof ttl === 'number' ? { ttl } : ttl) as {
    readonly ttl?: unknown;
    readonly strategy?: unknown;
  };
  if (strategy !== 'delete')
    throw invalidAt(['body', 'ttl', 'strategy'], 'must be delete: at its end a thread goes as a whole');
  const seconds = typeof minutes === 'number' ? Math.ceil(minutes * 60) : NaN;
  if (seconds >= 60 && seconds <= mostSeconds) return seconds;
  throw invalidAt(['body', 'ttl'], 'must be minutes, from 1 to ten years');
}
