/** Characters of a text that take about as long to check as another value. */
const charactersPerPart = 32;

/**
 * How much of a value there is to check: one for each value in it, and more for those texts and names that are long. The value may be nested
 * deeper than a recursive function can follow.
 */
export function partsOf(value: unknown): number {
  let parts = 0;
  for (const left = [value]; left.length > 0;) {
    const part = left.pop();
    parts += 1;
    if (typeof part === 'string') parts += part.length / charactersPerPart;
    else if (Array.isArray(part)) for (const inner of part as readonly unknown[]) left.push(inner);
    else if (typeof part === 'object' && part !== null)
      for (const [name, inner] of Object.entries(part)) {
        parts += name.length / charactersPerPart;
        left.push(inner);
      }
  }
  return parts;
}
