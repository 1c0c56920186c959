import type { Path } from '../path-text.ts';
import { endOfString, readMembers, type JsonMembers } from './json-members.ts';
import { holdsMembers, kindAt, unquoted, wholeOf, type JsonPlace } from './json-text.ts';

/** Finds the value at the end of a way through a JSON text; of two fields of one name the last, as a parser does. */
export function* findPlace(text: string, path: Path): Generator<undefined, JsonPlace | undefined> {
  let place: JsonPlace | undefined = wholeOf(text);
  for (const step of path) {
    if (!holdsMembers(text, place)) return undefined;
    const isList = kindAt(text, place.start) === 'array';
    const members: JsonMembers = yield* readMembers(text, place.start);
    let found = -1;
    if (isList) found = typeof step === 'number' && step < members.count ? step : -1;
    else
      for (let index = 0; index < members.count; index++) {
        const start = members.starts[index] ?? 0;
        if (unquoted(text.slice(start, endOfString(text, start))) === step) found = index;
      }
    if (found < 0) return undefined;
    place = { start: members.values[found] ?? 0, end: members.ends[found] ?? 0 };
  }
  return place;
}
