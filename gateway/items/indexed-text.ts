type JsonObject = Readonly<Record<string, unknown>>;

/** The path to the whole value. */
export const wholeValue = '$';

/** What a memory has of a value, in bytes: the beginning of a longer text. Embedding models take some 8,000 tokens. */
const textBytes = 24 * 1024;

/** Values that one path leads to at most. */
const mostValues = 1000;

/** The text by whose meaning a value is found, from the values that paths lead to, a line each; empty where there are none. */
export function indexedText(value: JsonObject, paths: readonly string[]): string {
  const texts = paths.flatMap((path) => (path === wholeValue ? [JSON.stringify(value)] : valuesAt(value, path)));
  return beginning(texts.join('\n').toWellFormed().trim());
}

/** The values at a path as texts: `a.b`, `a[0].b`, `a[-1]`, `a[*].b`. One that leads nowhere gives none. */
function valuesAt(value: unknown, path: string): readonly string[] {
  let found: readonly unknown[] = [value];
  for (const step of path.replaceAll('[', '.[').split('.'))
    if (step !== '') found = found.flatMap((one) => stepInto(one, step)).slice(0, mostValues);
  return found.flatMap(toText);
}

function stepInto(value: unknown, step: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === '*' || step === '[*]') return Object.values(value);
  if (!Array.isArray(value)) return Object.hasOwn(value, step) ? [(value as JsonObject)[step]] : [];
  const index = step.startsWith('[') && step.endsWith(']') ? Number(step.slice(1, -1)) : NaN;
  return Number.isInteger(index) && value.at(index) !== undefined ? [value.at(index)] : [];
}

function toText(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  return [typeof value === 'string' ? value : JSON.stringify(value)];
}

/** The beginning of a text that takes no more bytes than a memory holds. */
function beginning(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= textBytes) return text;
  let end = textBytes;
  // No byte in the middle of a character begins with other bits than these.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
