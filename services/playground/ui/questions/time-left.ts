import { duration } from '../format.ts';

/** How long a question may still be answered, in words, and whether that is less than an hour; `undefined` without a time. */
export function timeLeft(
  deadline: string | undefined,
  now: number,
): { readonly text: string; readonly isSoon: boolean } | undefined {
  const at = Date.parse(deadline ?? '');
  if (Number.isNaN(at)) return undefined;
  const ms = at - now;
  if (ms <= 0) return { text: 'time is over', isSoon: true };
  return { text: `${shortly(ms)} left`, isSoon: ms < 3_600_000 };
}

/** Minutes are exact enough until the last one. */
function shortly(ms: number): string {
  if (ms < 60_000) return duration(Math.ceil(ms / 1000) * 1000).replace('.0', '');
  const minutes = Math.round(ms / 60_000);
  return minutes < 60 ? `${String(minutes)} min` : duration(minutes * 60_000);
}
