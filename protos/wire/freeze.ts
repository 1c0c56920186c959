/**
 * Freezes plain objects and arrays all the way down; bytes cannot be frozen and stay as they are. What is frozen already
 * is not walked again.
 */
export function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return;
  Object.freeze(value);
  if (Array.isArray(value)) {
    for (const item of value) freeze(item);
    return;
  }
  for (const key in value) freeze((value as Record<string, unknown>)[key]);
}
