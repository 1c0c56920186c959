/** Places of a text in another. */
export interface JsonHits {
  readonly at: readonly number[];
  /** Whether there are more than are counted. */
  readonly isCut: boolean;
}

/** More hits are not counted. */
const maxHits = 10_000;
/** So many characters are searched before others may have their turn. */
const part = 512 * 1024;

/**
 * What finds a text whatever its case, as it is written in JSON; `undefined` for an empty one. It is a row of characters and nothing else, so that
 * it takes no longer than the text is long.
 */
function searchFor(wanted: string): RegExp | undefined {
  if (wanted === '') return undefined;
  const written = JSON.stringify(wanted).slice(1, -1);
  return new RegExp(written.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), 'gi');
}

/** Finds a text in a JSON text, part by part. */
export function* findIn(text: string, wanted: string): Generator<undefined, JsonHits> {
  const regex = searchFor(wanted);
  const at: number[] = [];
  if (!regex) return { at, isCut: false };
  const overlap = JSON.stringify(wanted).length;
  for (let from = 0; from < text.length; from += part) {
    for (const { index } of text.slice(from, from + part + overlap).matchAll(regex)) {
      if (index >= part || from + index === at.at(-1)) continue;
      if (at.length === maxHits) return { at, isCut: true };
      at.push(from + index);
    }
    yield undefined;
  }
  return { at, isCut: false };
}

/** A text in parts: what was found in it, and the rest. */
export function markedParts(
  text: string,
  wanted: string,
): readonly { readonly text: string; readonly isFound: boolean }[] {
  const regex = searchFor(wanted);
  if (!regex) return [{ text, isFound: false }];
  const parts: { text: string; isFound: boolean }[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(regex)) {
    if (index > from) parts.push({ text: text.slice(from, index), isFound: false });
    parts.push({ text: found, isFound: true });
    from = index + found.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isFound: false });
  return parts;
}
