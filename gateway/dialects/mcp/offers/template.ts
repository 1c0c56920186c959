/** The part of an address that stands for a variable. */
const variable = /\{[\w.-]{1,64}\}/;

/**
 * The values of a template's variables in an address; `undefined` for an address of another form. A variable stands for text without a slash, also without one that is encoded. It
 * takes time in proportion to the address.
 */
export function matchTemplate(template: string, uri: string): Readonly<Record<string, string>> | undefined {
  const values: Record<string, string> = {};
  let [rest, at] = [template, 0];
  for (;;) {
    const found = variable.exec(rest);
    const fixed = found ? rest.slice(0, found.index) : rest;
    if (!uri.startsWith(fixed, at)) return undefined;
    at += fixed.length;
    if (!found) return at === uri.length ? values : undefined;
    rest = rest.slice(found.index + found[0].length);
    const end = endOfValue(uri, at, rest.charAt(0));
    if (end === at) return undefined;
    const value = decoded(uri.slice(at, end));
    if (value.includes('/')) return undefined;
    values[found[0].slice(1, -1)] = value;
    at = end;
  }
}

/** A value ends before the character that stands behind its variable, before a slash, or with the address. */
function endOfValue(uri: string, from: number, next: string): number {
  const ends = ['/', next].flatMap((mark) => {
    const at = mark === '' ? -1 : uri.indexOf(mark, from);
    return at === -1 ? [] : [at];
  });
  return Math.min(uri.length, ...ends);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
