import { badRequest, ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { invalidAt, located, type Loc } from './fields.ts';

/** The least characters of a key with its value, `"":0,`, and of a list, `[],` or one inside another. */
const [leastOfKey, leastOfList] = [5, 2];
/** A shorter text has neither too many keys nor too many lists and objects. */
const leastLength = Math.min(sizes.keys * leastOfKey, sizes.nested * leastOfList);

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
/** `[` and `{` differ by this bit alone, and so do `]` and `}`. */
const curlyBit = 0x20;
const [opening, closing] = [0x7b, 0x7d];

/**
 * Refuses a long JSON text that has too many keys, lists and objects, or levels, before it is parsed: that takes a tenth of the time and no memory.
 * Whether it is JSON at all does not matter here.
 * @throws BadRequest that calls the text `where`
 */
export function refuseCostlyText(text: string, where: string): void {
  if (text.length < leastLength || hasFew(text)) return;
  let [depth, nested, keys] = [0, 0, 0];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfText(text, index);
    else if (code === colon) {
      if (++keys > sizes.keys) throw tooManyKeys(where);
    } else if ((code | curlyBit) === opening) {
      if (++depth > sizes.depth) throw tooDeep(where);
      if (++nested > sizes.nested)
        throw badRequest(`${where} holds more than ${String(sizes.nested)} lists and objects`);
    } else if ((code | curlyBit) === closing) depth--;
  }
}

/** Whether it has few such characters, those inside of texts included: most long texts have, and to count them is far faster than to read it. */
const hasFew = (text: string): boolean =>
  countOf(text, ':', sizes.keys) <= sizes.keys &&
  countOf(text, '[', sizes.nested) + countOf(text, '{', sizes.nested) <= sizes.nested;

/** At most one more than `most`. */
function countOf(text: string, character: string, most: number): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= most; at = text.indexOf(character, at + 1)) count++;
  return count;
}

const tooDeep = (where: string): Error => badRequest(`${where} is nested deeper than ${String(sizes.depth)} levels`);

const tooManyKeys = (where: string): Error => badRequest(`${where} holds more than ${String(sizes.keys)} keys`);

/** So many characters of a text are looked at one by one before its end is searched for, which is faster for long ones alone. */
const shortText = 64;

/** Where the quote is that ends the text which begins at `start`. */
function endOfText(text: string, start: number): number {
  let index = start + 1;
  for (;;) {
    for (const end = index + shortText; index < end; index++) {
      const code = text.charCodeAt(index);
      if (code === quote) return index;
      if (code === backslash) index++;
    }
    const next = text.indexOf('"', index);
    if (next < 0) return text.length;
    if (!isEscaped(text, index, next)) return next;
    index = next + 1;
  }
}

/** Whether the character at `at` is escaped, in a text of which all before `start` has been read. */
function isEscaped(text: string, start: number, at: number): boolean {
  let first = at;
  while (first > start && text.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

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
  if (typeof value !== 'object' || value === null) return;
  const found = { keys: 0, hugeAt: Infinity };
  lookInto(value, 1, found, place);
  if (found.hugeAt < Infinity) throw hugeAt([...place.loc, ...(placeOfHuge(value, found.hugeAt) ?? [])]);
}

/** How many keys were found, and the least depth of a huge number. */
interface Found {
  keys: number;
  hugeAt: number;
}

function lookInto(value: object, depth: number, found: Found, place: Place): void {
  if (depth > sizes.depth) throw tooDeep(place.where);
  const isList = Array.isArray(value);
  if (!isList && Object.hasOwn(value, '__proto__')) throw prototypeIn(place);
  const children: readonly unknown[] = isList ? value : Object.values(value);
  if (!isList && (found.keys += children.length) > sizes.keys) throw tooManyKeys(place.where);
  for (const child of children)
    if (typeof child === 'object' && child !== null) lookInto(child, depth + 1, found, place);
    else if (isHuge(child)) found.hugeAt = Math.min(found.hugeAt, depth);
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
