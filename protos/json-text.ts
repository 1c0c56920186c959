import { isUtf8 } from 'node:buffer';
import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';

/** The levels of nesting that every reader can follow. */
const maxDepth = 1000;

/** Reads a text that another program wrote. @throws Invalid at `at` for what is no JSON, has too many levels, or a number that JSON readers cannot hold. */
export function readJson(value: Uint8Array | string, at: ErrorDetail['field']): unknown {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  if (!isUtf8(bytes)) throw invalid(at, 'must be UTF-8', 'json_invalid');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw invalid(at, 'must be JSON', 'json_invalid');
  }
  if (depthOf(bytes) > maxDepth) throw invalid(at, `has more than ${String(maxDepth)} levels`, 'too_deep');
  if (hasHugeNumber(text))
    throw invalid(at, 'must not hold a number that is too large for JSON readers', 'finite_number');
  return read;
}

/** A number that is read as Infinity has an exponent of three digits or very many digits; 200 digits with an exponent of two are finite. */
const mayBeHuge = /\d[eE]\+?\d{3}|\d{200}/;

/** Of a text that is JSON: whether a number of it is read as Infinity, which is written as `null`. */
function hasHugeNumber(text: string): boolean {
  if (!mayBeHuge.test(text)) return false;
  let isHuge = false;
  JSON.parse(text, (_key, read: unknown) => {
    if (typeof read === 'number' && !Number.isFinite(read)) isHuge = true;
    return read;
  });
  return isHuge;
}

const [quote, backslash] = [0x22, 0x5c];
/** `[` and `{` differ by this bit alone, and so do `]` and `}`. */
const curlyBit = 0x20;
const [opening, closing] = [0x7b, 0x7d];

/** Of a text that is JSON. */
function depthOf(bytes: Uint8Array): number {
  let [depth, most, isInText] = [0, 0, false];
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (isInText && byte === backslash) index++;
    else if (byte === quote) isInText = !isInText;
    else if (!isInText && (byte | curlyBit) === opening) most = Math.max(most, ++depth);
    else if (!isInText && (byte | curlyBit) === closing) depth--;
  }
  return most;
}
