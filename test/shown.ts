/**
 * The first part of a shown reply that the real reply does not hold at its place; undefined when all of it is there. `…` stands for any
 * text, and white space does not count.
 */
export function missingPart(shown: string, real: string): string | undefined {
  const text = real.replaceAll(/\s/g, '');
  let from = 0;
  for (const part of shown.replaceAll(/\s/g, '').split('…')) {
    const at = text.indexOf(part, from);
    if (at === -1) return part;
    from = at + part.length;
  }
  return undefined;
}
