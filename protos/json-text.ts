import { isUtf8 } from 'node:buffer';
import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';

/** The levels of nesting that every reader can follow. */
const maxDepth = 1000;
/** The most lists and objects of one text. */
const maxNested = sizes.nested;
/** The most different keys of one text: a reader keeps each of them by itself, which takes a microsecond or more. A key that comes again takes little. */
const maxKeys = sizes.keys;
/** The fewest characters that a key takes with its value, `"":0,`: the keys of a text that is too short for {@link maxKeys} of them are not counted. */
const leastKeyBytes = 5;

interface ReadOptions {
  readonly at: ErrorDetail['field'];
  readonly mostBytes: number;
}

/**
 * Reads a text that another program wrote. It is measured before it is looked at, and its levels are counted before it is parsed: so what is
 * refused costs little, and what is read costs no more than its bound allows.
 * @throws Invalid at `at` for what is larger than `mostBytes`, is no JSON, has too many levels or keys, or a number that JSON readers cannot hold.
 */
export function readJson(value: Uint8Array | string, { at, mostBytes }: ReadOptions): unknown {
  const size = typeof value === 'string' ? Buffer.byteLength(value) : value.byteLength;
  refuseOver(size, mostBytes, at);
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  if (!isUtf8(bytes)) throw invalid(at, 'must be UTF-8', 'json_invalid');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const { isTooDeep, isTooNested, hasTooManyKeys, hasHugeNumber } = scan(text);
  if (isTooDeep) throw invalid(at, `has more than ${String(maxDepth)} levels`, 'too_deep');
  if (isTooNested) throw invalid(at, `has more than ${String(maxNested)} lists and objects`, 'too_long');
  if (hasTooManyKeys) throw invalid(at, `has more than ${String(maxKeys)} different keys`, 'too_long');
  const read = parse(text, at);
  if (hasHugeNumber) throw invalid(at, 'must not hold a number that is too large for JSON readers', 'finite_number');
  return read;
}

function parse(text: string, at: ErrorDetail['field']): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(at, 'must be JSON', 'json_invalid');
  }
}

interface Scanned {
  readonly isTooDeep: boolean;
  readonly isTooNested: boolean;
  readonly hasTooManyKeys: boolean;
  /** Whether a number is read as Infinity, which is written as `null`. Of a text that is no JSON it means nothing. */
  readonly hasHugeNumber: boolean;
}

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
/** `[` and `{` differ by this bit alone, and so do `]` and `}`. */
const curlyBit = 0x20;
const [opening, closing] = [0x7b, 0x7d];

/** Passes over each character once, those of long keys twice, and stops where there are too many levels, lists, objects or keys. */
function scan(text: string): Scanned {
  const noFault = { isTooDeep: false, isTooNested: false, hasTooManyKeys: false };
  const keys = text.length > maxKeys * leastKeyBytes ? new Set<number>() : undefined;
  let [depth, nested, hasHugeNumber] = [0, 0, false];
  let lastText: readonly [start: number, end: number] | undefined;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      const start = index;
      index = endOfText(text, index);
      if (keys) lastText = [start, index];
    } else if (code === colon) {
      if (keys && lastText && keys.add(hashOf(text, ...lastText)).size > maxKeys)
        return { ...noFault, hasTooManyKeys: true, hasHugeNumber };
      // So that the same text is not hashed again for each colon that comes after it.
      lastText = undefined;
    } else if ((code | curlyBit) === opening) {
      const [isTooDeep, isTooNested] = [++depth > maxDepth, ++nested > maxNested];
      if (isTooDeep || isTooNested) return { ...noFault, isTooDeep, isTooNested, hasHugeNumber };
    } else if ((code | curlyBit) === closing) depth--;
    else if (isDigit(code)) {
      const end = endOfNumber(text, index);
      if (end - index >= leastHugeLength) hasHugeNumber ||= isHuge(text.slice(index, end));
      index = end - 1;
    }
  }
  return { ...noFault, hasHugeNumber };
}

/** A number for a key (FNV-1a, 30 bits): of 100,000 different ones about five are taken for another. */
function hashOf(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash & 0x3fffffff;
}

/** Where the quote is that ends the text which begins at `start`. */
function endOfText(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === quote) return index;
    index += code === backslash ? 2 : 1;
  }
  return index;
}

function endOfNumber(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && isOfNumber(text.charCodeAt(index))) index++;
  return index;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const partsOfNumber: ReadonlySet<number> = new Set(Array.from('.eE+-', (character) => character.charCodeAt(0)));
const isOfNumber = (code: number): boolean => isDigit(code) || partsOfNumber.has(code);

/** `9e308` is the shortest of all. */
const leastHugeLength = 5;
/** The most digits of a number that is finite whatever they are. */
const maxPlainDigits = 308;

function isHuge(literal: string): boolean {
  const mayBe = literal.length > maxPlainDigits || literal.includes('e') || literal.includes('E');
  return mayBe && !Number.isFinite(Number(literal));
}
