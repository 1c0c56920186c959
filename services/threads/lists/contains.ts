import { foldText } from '@agent-workflow/kit/fold-text';

/**
 * A test whether a text contains `needle`, in a time that grows with their lengths added up. `String.includes` multiplies
 * them for some needles: a search of 8,000 characters in 2 MB can take 20 seconds.
 */
export function containing(needle: string): (text: string) => boolean {
  if (needle.length <= shortNeedle) return (text) => text.includes(needle);
  const borders = bordersOf(needle);
  return (text) => isIn(text, needle, borders);
}

/**
 * A test whether a text contains what is searched for: as it is written, whatever the case, or as people read it, so that composed and
 * decomposed, full-width and ordinary, dotted and dotless letters find each other.
 */
export function finding(search: string): (text: string) => boolean {
  const [needle, folded] = [lowerOf(search), foldText(search)];
  const [isWritten, isRead] = [containing(needle), containing(folded)];
  return (text) => {
    const lower = lowerOf(text);
    if (isWritten(lower)) return true;
    const read = foldText(text);
    return (read !== lower || folded !== needle) && isRead(read);
  };
}

/** In lower case. That of `Σ` depends on the letters around it, which a part of a text does not have. */
const lowerOf = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');

/** For needles up to here `includes` is the faster one, whatever they are. */
const shortNeedle = 64;

/** Searches as Knuth, Morris and Pratt do: each character of the text is read once. */
function isIn(text: string, needle: string, borders: Int32Array): boolean {
  let matched = 0;
  for (let place = 0; place < text.length; place += 1) {
    const code = text.charCodeAt(place);
    while (matched > 0 && code !== needle.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (code === needle.charCodeAt(matched)) matched += 1;
    if (matched === needle.length) return true;
  }
  return false;
}

/** For each beginning of the needle, how much of its end is a beginning of it too. */
function bordersOf(needle: string): Int32Array {
  const borders = new Int32Array(needle.length);
  let matched = 0;
  for (let place = 1; place < needle.length; place += 1) {
    const code = needle.charCodeAt(place);
    while (matched > 0 && code !== needle.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (code === needle.charCodeAt(matched)) matched += 1;
    borders[place] = matched;
  }
  return borders;
}
