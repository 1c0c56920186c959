/**
 * The value as JSON has it: what JSON does not have is dropped, as `JSON.stringify` drops it. `who` was given it, and `most` is its bound in bytes.
 * @throws TypeError when it is not JSON, RangeError when it is larger; the message names `who`.
 */
export function toJsonValue(value: unknown, who: string, most: number): unknown {
  const json = stringify(value);
  if (json === undefined) throw new TypeError(`${who} was given a value that is not JSON`);
  const bytes = Buffer.byteLength(json);
  if (bytes > most) throw new RangeError(`${who} was given ${String(bytes)} bytes of JSON, more than ${String(most)}`);
  return JSON.parse(json);
}

/** `undefined` also for a cycle and a bigint, which `JSON.stringify` refuses. */
function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch {
    return undefined;
  }
}
