import { isUtf8 } from 'node:buffer';
import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';

/** The levels of nesting that every reader can follow. */
const maxDepth = 1000;

/** Reads a text that another program wrote. @throws Invalid at `at` for what is no JSON, or has too many levels. */
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
  return read;
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
