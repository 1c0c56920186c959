/** How many places one reading gives at most. */
const maxPlaces = 1000;

/**
 * Where a text holds another, in upper or lower case: the beginnings of places that do not overlap. A text that changes its length with
 * its case, as few scripts have it, is compared as it is written. It takes one pass.
 */
export function placesOf(text: string, sought: string, most = maxPlaces): readonly number[] {
  if (sought === '') return [];
  const [lower, wanted] = [text.toLowerCase(), sought.toLowerCase()];
  const isSame = lower.length === text.length && wanted.length === sought.length;
  const [within, what] = isSame ? [lower, wanted] : [text, sought];
  const places: number[] = [];
  for (let at = within.indexOf(what); at !== -1 && places.length < most; at = within.indexOf(what, at + what.length))
    places.push(at);
  return places;
}
