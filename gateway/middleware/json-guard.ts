import { badRequest } from '@agent-workflow/kit/errors';

/** Levels of nesting of a request's JSON: far below what a recursive walk anywhere further in could overflow on. */
const maxDepth = 128;

/** The most levels that a text of this length could hold is half of it: shorter ones need no walk for depth. */
export const maxFlatLength = 2 * maxDepth;

/**
 * Refuses JSON that is nested too deep, or that would set the prototype of an object it is copied to.
 * @throws BadRequest
 */
export function guardJson(value: unknown, where: string): void {
  let level = childrenOf([value], where);
  for (let depth = 2; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw badRequest(`${where} is nested deeper than ${String(maxDepth)} levels`);
    level = childrenOf(level, where);
  }
}

/** Every object and array that stands directly in one of these. */
function childrenOf(values: readonly unknown[], where: string): object[] {
  const children: object[] = [];
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) throw badRequest(`${where} may not hold the key "__proto__"`);
    for (const child of Object.values(value))
      if (typeof child === 'object' && child !== null) children.push(child as object);
  }
  return children;
}
