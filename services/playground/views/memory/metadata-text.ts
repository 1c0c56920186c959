import type { JsonObject } from '@agent-workflow/client';
import { findPlace } from '../../ui/json-tree/json-place.ts';

/**
 * The metadata of a memory for a box in which it is edited: in lines, or as the service has written it where a value cannot hold that, as a
 * number of twenty digits. `reply` is the JSON of the reply with the memory, where that is known.
 */
export function metadataText(metadata: JsonObject, reply: string | undefined): string {
  const written = reply === undefined ? undefined : writtenMetadata(reply);
  return written === undefined || JSON.stringify(JSON.parse(written)) === written
    ? JSON.stringify(metadata, undefined, 2)
    : written;
}

function writtenMetadata(reply: string): string | undefined {
  const search = findPlace(reply, ['data', 'memory', 'metadata']);
  for (;;) {
    const { done, value } = search.next();
    if (done) return value && reply.slice(value.start, value.end);
  }
}

/** The fields of an object that another one does not have, or has with another value; `undefined` where there are none. */
export function changedFields(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const changed = Object.entries(after).filter(
    ([name, value]) => !Object.hasOwn(before, name) || JSON.stringify(before[name]) !== JSON.stringify(value),
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
