/**
 * Milliseconds after which a server wants to be tried again, by its headers `retry-after-ms` and `retry-after` (seconds or a date);
 * 0 when it names no time.
 */
export function readRetryAfter(header: (name: string) => string | null | undefined): number {
  const ms = Number(header('retry-after-ms') ?? 0);
  if (ms > 0) return ms;
  const text = header('retry-after') ?? '0';
  const seconds = Number(text);
  return Math.max(0, Number.isNaN(seconds) ? Date.parse(text) - Date.now() || 0 : seconds * 1000);
}
