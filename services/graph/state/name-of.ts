/** What a value is, for the message that refuses it. */
export function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Promise) return 'promise';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}
