import { badRequest } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';

/** The most levels that a text of this length could hold is half of it: shorter ones need no walk for depth. */
export const maxFlatLength = 2 * sizes.depth;

/**
 * Refuses JSON that is nested too deep, holds too many keys, or would set the prototype of an object it is copied to.
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

/** Adds every object and array that stands directly in this one. @returns how many keys it has. */
function collect(value: unknown, into: object[], where: string): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Object.hasOwn(value, '__proto__')) throw badRequest(`${where} may not hold the key "__proto__"`);
  const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const child of children) if (typeof child === 'object' && child !== null) into.push(child);
  return Array.isArray(value) ? 0 : children.length;
}
