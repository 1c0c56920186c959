/** The longest key that the service takes. */
const maxLength = 255;

/**
 * The idempotency key of a later round of a request: the caller's, with the number of the round after it. Where that is longer than a key may
 * be, the caller's is cut, and a digest of all of it stands in place of the rest, so that keys with the same beginning stay different.
 */
export function keyOfRound(key: string, round: number): string {
  const end = `.${String(round)}`;
  if (key.length + end.length <= maxLength) return key + end;
  const digestAndEnd = `.${digestOf(key)}${end}`;
  return key.slice(0, maxLength - digestAndEnd.length) + digestAndEnd;
}

/** FNV-1a of 64 bits: it guards nothing, and pages that came over plain HTTP have no `crypto.subtle`. */
function digestOf(text: string): string {
  let digest = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    digest = BigInt.asUintN(64, (digest ^ BigInt(byte)) * 0x100000001b3n);
  return digest.toString(16).padStart(16, '0');
}
