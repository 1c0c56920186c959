type Parse = typeof JSON.parse;

/**
 * Replaces `JSON.parse` of this process, because V8 misreads keys (seen in 13.6 and 14.6, of Node 24 and 26): a key that is written with an escape,
 * as `"\n"`, may be read as a key that ends in a backslash or holds one, once the process has made an object with that key. So one caller
 * could change keys of another. Texts without a backslash, which most are, are parsed as before.
 */
export function mendJsonKeys(): void {
  const { parse } = JSON;
  JSON.parse = (text: unknown, reviver?: Parameters<Parse>[1]): unknown =>
    typeof text === 'string' && reviver === undefined && text.includes('\\')
      ? parseEscapedKeys(text, parse)
      : parse(text as string, reviver);
}

/** Parses a JSON text of which keys may be written with escapes: they have other names while `parse` reads it. @throws SyntaxError */
export function parseEscapedKeys(text: string, parse: Parse): unknown {
  if (!mayEscapeKeys(text)) return parse(text) as unknown;
  const renamed = renameKeys(text, parse);
  const value = parse(renamed.text) as unknown;
  if (renamed.keys.size > 0) restoreKeys(value, renamed.keys);
  return value;
}

const [space, tab, lineFeed, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];
const blanks: ReadonlySet<number> = new Set([space, tab, lineFeed, carriageReturn]);
const [quote, colon, backslash] = [0x22, 0x3a, 0x5c];

/** Whether a key may be written with an escape. Only keys are looked at, because most escapes stand in long values; a value may look like a key. */
function mayEscapeKeys(text: string): boolean {
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    const before = text.charCodeAt(at - 1);
    if (blanks.has(before)) return true;
    if (before !== quote) continue;
    const start = text.lastIndexOf('"', at - 2);
    // It is the first quote of the key, or an escaped one in it.
    for (let inner = at - 2; inner >= start - 1; inner--) if (text.charCodeAt(inner) === backslash) return true;
  }
  return false;
}

interface Renamed {
  /** The text without keys that are written with escapes. */
  readonly text: string;
  /** The keys that cannot be written without an escape, by the names that they have in the text. */
  readonly keys: ReadonlyMap<string, string>;
}

function renameKeys(text: string, parse: Parse): Renamed {
  const nameOf = new Map<string, string>();
  const parts: string[] = [];
  let prefix: string | undefined;
  let copied = 0;
  for (const { start, stop } of escapedKeys(text)) {
    const written = text.slice(start, stop);
    const key = parse(written) as string;
    let name = nameOf.get(key);
    if (name === undefined && !isWrittenAsIs(key)) {
      prefix ??= unusedIn(text);
      nameOf.set(key, (name = `${prefix}${String(nameOf.size)}`));
    }
    parts.push(text.slice(copied, start), `"${name ?? key}"`);
    copied = stop;
  }
  const keys = new Map(Array.from(nameOf, ([key, name]) => [name, key] as const));
  return { text: copied === 0 ? text : `${parts.join('')}${text.slice(copied)}`, keys };
}

const isWrittenAsIs = (key: string): boolean => JSON.stringify(key) === `"${key}"`;

/** A beginning of names that is nowhere in the text, so that no name is a key of it. */
function unusedIn(text: string): string {
  for (;;) {
    const prefix = `key ${Math.random().toString(36).slice(2)} `;
    if (!text.includes(prefix)) return prefix;
  }
}

/** Where the keys with escapes stand, quotes included. The text is read once from its beginning to its last backslash. */
function* escapedKeys(text: string): Generator<{ readonly start: number; readonly stop: number }> {
  let escape = text.indexOf('\\');
  let start = text.indexOf('"');
  while (start >= 0 && escape >= 0) {
    let end = text.indexOf('"', start + 1);
    const hasEscape = escape < end;
    while (end >= 0 && escape >= 0 && escape < end) {
      const next = escape + 2;
      if (end < next) end = text.indexOf('"', next);
      escape = text.indexOf('\\', next);
    }
    if (end < 0) return;
    if (hasEscape && isColonBehind(text, end)) yield { start, stop: end + 1 };
    start = text.indexOf('"', end + 1);
  }
}

function isColonBehind(text: string, end: number): boolean {
  let at = end + 1;
  while (blanks.has(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === colon;
}

/** Gives the objects in a value their keys back, in their order. */
function restoreKeys(value: unknown, keys: Renamed['keys']): void {
  const left: unknown[] = [value];
  while (left.length > 0) {
    const each = left.pop();
    if (typeof each !== 'object' || each === null) continue;
    const entries: readonly (readonly [string, unknown])[] = Object.entries(each);
    for (const [, inner] of entries) left.push(inner);
    if (!entries.some(([name]) => keys.has(name))) continue;
    for (const [name] of entries) Reflect.deleteProperty(each, name);
    for (const [name, inner] of entries) {
      const member = { value: inner, writable: true, enumerable: true, configurable: true };
      Object.defineProperty(each, keys.get(name) ?? name, member);
    }
  }
}
