import { contains, countItems } from '@agent-workflow/kit/contained';
import { invalidAt, type Loc } from '../../http/fields.ts';
import { boundedBytes } from './bounded.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What a request compares metadata, or values, with, in bytes. */
export const comparedBytes = 64 * 1024;

/** Each is compared with every item of a list. */
const mostItems = 100;

/** What metadata must contain, as JSON bytes. @throws Invalid, which names the field, when it is too large to be compared */
export function metadataFilter(given: JsonObject, loc: Loc): Uint8Array {
  refuseManyItems(given, loc);
  return boundedBytes(given, loc, comparedBytes);
}

/** Whether metadata contains what is asked for; everything does where nothing is. @throws Invalid as `metadataFilter` */
export function metadataTest(given: JsonObject | undefined, loc: Loc): (metadata: JsonObject) => boolean {
  if (given === undefined) return () => true;
  refuseManyItems(given, loc);
  return (metadata) => contains(metadata, given);
}

function refuseManyItems(given: JsonObject, loc: Loc): void {
  if (countItems(given) <= mostItems) return;
  throw invalidAt(loc, `must have at most ${String(mostItems)} objects and lists as items of lists`, 'too_long');
}
