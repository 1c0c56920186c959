import { badRequest } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';

/** JSON text of this length has at most half as many levels: shorter text is never nested too deep. */
export const maxFlatLength = 2 * sizes.depth;

/**
 * Refuses JSON that is nested too deep, has too many keys, or has the key `__proto__`, which would set a prototype when copied.
 * @throws BadRequest
 */
export function guardJson(value: unknown, where: string): void {
  let keys = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > sizes.depth) throw badRequest(`${where} is nested deeper than ${String(sizes.depth)} levels`);
    const next: object[] = [];
    for (const each of level) keys += collect(each, next, where);
    if (keys > sizes.keys) throw badRequest(`${where} holds more than ${String(sizes.keys)} keys`);
    level = next;
  }
}

/** Adds the objects and arrays directly inside `value` to `into`. @returns its number of keys. */
function collect(value: unknown, into: object[], where: string): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Object.hasOwn(value, '__proto__')) throw badRequest(`${where} may not hold the key "__proto__"`);
  const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const child of children) if (typeof child === 'object' && child !== null) into.push(child);
  return Array.isArray(value) ? 0 : children.length;
}
