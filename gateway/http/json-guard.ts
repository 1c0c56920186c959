import { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { invalidAt, located, type Loc } from './fields.ts';
import { tooDeep, tooManyKeys } from './json-scan.ts';

/** What holds the JSON: in words, and as the beginning of a location. */
interface Place {
  readonly where: string;
  readonly loc: Loc;
}

/**
 * Refuses JSON that is nested too deep, has too many keys, or has the key `__proto__`, which would set a prototype when copied. It refuses numbers
 * outside the range of a double, too: they are read as Infinity, and would be stored as `null`.
 * @throws BadRequest; for such a number Invalid with its location
 */
export function guardJson(value: unknown, place: Place): void {
  const { where, loc } = place;
  let keys = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > sizes.depth) throw tooDeep(where);
    const next: unknown[] = [];
    for (const each of level) keys += collect(each, next, place);
    if (keys > sizes.keys) throw tooManyKeys(where);
    if (next.some(isHuge)) throw hugeAt([...loc, ...(placeOfHuge(value, depth) ?? [])]);
    level = next;
  }
}

/** Adds the objects, arrays and huge numbers directly inside `value` to `into`. @returns its number of keys. */
function collect(value: unknown, into: unknown[], place: Place): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Object.hasOwn(value, '__proto__')) throw prototypeIn(place);
  const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const child of children) if ((typeof child === 'object' && child !== null) || isHuge(child)) into.push(child);
  return Array.isArray(value) ? 0 : children.length;
}

function prototypeIn({ where, loc }: Place): Error {
  const msg = `${where} may not hold the key "__proto__"`;
  return new ServiceError('BadRequest', msg, { details: [located({ loc, msg, type: 'json_invalid' })] });
}

const isHuge = (value: unknown): boolean => value === Infinity || value === -Infinity;

const hugeAt = (loc: Loc): Error => invalidAt(loc, 'must be a number that JSON readers can hold', 'finite_number');

/** The place of the first huge number in `value`, at most so many levels deep; `undefined` when there is none. */
function placeOfHuge(value: unknown, levels: number): Loc | undefined {
  if (isHuge(value)) return [];
  if (levels === 0 || typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const place = placeOfHuge(inner, levels - 1);
    if (place) return [key, ...place];
  }
  return undefined;
}
