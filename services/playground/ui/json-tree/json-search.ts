import { placesOf } from '../places-of.ts';

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

/** A text as it is written in JSON. */
const writtenIn = (wanted: string): string => JSON.stringify(wanted).slice(1, -1);

/** Finds a text in a JSON text, whatever its case, part by part. */
export function* findIn(text: string, wanted: string): Generator<undefined, JsonHits> {
  const sought = writtenIn(wanted);
  const at: number[] = [];
  let from = 0;
  while (sought !== '' && from < text.length) {
    // What begins in this part may end in the next.
    const within = text.slice(from, from + part + sought.length - 1);
    const places = placesOf(within, sought, maxHits + 1 - at.length);
    at.push(...places.map((place) => from + place));
    if (at.length > maxHits) return { at: at.slice(0, maxHits), isCut: true };
    from = Math.max(from + part, (at.at(-1) ?? -sought.length) + sought.length);
    yield undefined;
  }
  return { at, isCut: false };
}

/** A text in parts: what was found in it, and the rest. */
export function markedParts(
  text: string,
  wanted: string,
): readonly { readonly text: string; readonly isFound: boolean }[] {
  const sought = writtenIn(wanted);
  const parts: { text: string; isFound: boolean }[] = [];
  let from = 0;
  for (const at of placesOf(text, sought)) {
    if (at > from) parts.push({ text: text.slice(from, at), isFound: false });
    from = at + sought.length;
    parts.push({ text: text.slice(at, from), isFound: true });
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from), isFound: false });
  return parts;
}
