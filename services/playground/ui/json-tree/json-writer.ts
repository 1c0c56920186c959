/** A value that nests deeper is left out: the service takes no more than 128 levels. */
const maxDepth = 256;
/** So many values are written before others may have their turn. */
const turn = 0xfff;

/** Writes a value as JSON without spaces. It yields each time it has written a part, so that its caller can let the page draw. */
export function* writeJson(value: unknown): Generator<undefined, string> {
  const parts: string[] = [];
  let written = 0;
  function* write(each: unknown, depth: number): Generator<undefined, void> {
    if ((++written & turn) === 0) yield undefined;
    if (typeof each !== 'object' || each === null) parts.push(scalarText(each));
    else if (depth > maxDepth) parts.push('"…"');
    else if (Array.isArray(each)) {
      parts.push('[');
      for (let at = 0; at < each.length; at++) {
        if (at > 0) parts.push(',');
        // Most members hold no others: a generator for each would take longer than to write them.
        if (isScalar(each[at])) {
          if ((++written & turn) === 0) yield undefined;
          parts.push(scalarText(each[at]));
        } else yield* write(each[at], depth + 1);
      }
      parts.push(']');
    } else {
      parts.push('{');
      let isFirst = true;
      for (const [name, field] of fieldsOf(each)) {
        parts.push(isFirst ? '' : ',', JSON.stringify(name), ':');
        isFirst = false;
        if (isScalar(field)) {
          if ((++written & turn) === 0) yield undefined;
          parts.push(scalarText(field));
        } else yield* write(field, depth + 1);
      }
      parts.push('}');
    }
  }
  yield* write(value, 0);
  return parts.join('');
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

/** A value that JSON has no word for, as a function, is `null`. */
const scalarText = (value: unknown): string => JSON.stringify(typeof value === 'function' ? null : (value ?? null));

function* fieldsOf(value: object): Generator<readonly [string, unknown]> {
  for (const name of Object.keys(value)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field !== undefined) yield [name, field];
  }
}
