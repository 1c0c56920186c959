/**
 * An id that sorts by the time of its request, as a UUIDv7 does: that of an idempotent request is a hash. It is the same at every attempt,
 * because the time of an idempotent request is that of its first one.
 */
export function datedId(id: string, at: Date): string {
  if (id[14] === '7') return id;
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${id.slice(15)}`;
}
