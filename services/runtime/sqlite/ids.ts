import { uuidText } from '@agent-workflow/kit/ids';

/** An id as a column has it. */
export type StoredId = string | Uint8Array;

/** The value of each digit by its code; -1 for what is none. */
const digits = Int8Array.from({ length: 128 }, (_, code) => '0123456789abcdef'.indexOf(String.fromCharCode(code)));

const uuidLength = 36;
const isDash = (at: number): boolean => at === 8 || at === 13 || at === 18 || at === 23;

/**
 * A UUID in its usual spelling, as our own ids are, becomes its 16 bytes; another id stays the text that it is. Both sort as their texts
 * do, all texts before all bytes. Its column has the type ANY. It takes a quarter of the time of `Buffer.from` with `replaceAll`.
 */
export function toStoredId(id: string): StoredId {
  if (id.length !== uuidLength) return id;
  const bytes = Buffer.allocUnsafe(16);
  let to = 0;
  for (let at = 0; at < uuidLength; at++) {
    if (isDash(at)) {
      if (id[at] !== '-') return id;
      continue;
    }
    const high = digits[id.charCodeAt(at++)] ?? -1;
    const low = digits[id.charCodeAt(at)] ?? -1;
    if (high < 0 || low < 0) return id;
    bytes[to++] = (high << 4) | low;
  }
  return bytes;
}

/** The id that {@link toStoredId} has stored. */
export function fromStoredId(stored: unknown): string {
  // A column of ids has nothing else.
  return stored instanceof Uint8Array ? uuidText(stored) : (stored as string);
}
