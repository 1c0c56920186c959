type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const isObject = (value: unknown): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/**
 * How a reply of ours differs in shape from a recorded one: each member that lacks, or has another type, by its path. Further members are no
 * difference, nor is a null on one side: it stands for what may be absent. Of lists the first items are compared.
 */
export function differences(recorded: unknown, ours: unknown, path = '$'): readonly string[] {
  const [theirs, own] = [kindOf(recorded), kindOf(ours)];
  if (theirs === 'null' || own === 'null') return [];
  if (theirs !== own) return [`${path}: ${own}, not ${theirs}`];
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    if (recorded.length === 0 || ours.length === 0) return [];
    return differences(recorded[0], ours[0], `${path}[0]`);
  }
  if (!isObject(recorded) || !isObject(ours)) return [];
  return Object.entries(recorded).flatMap(([name, value]) =>
    Object.hasOwn(ours, name) ? differences(value, ours[name], `${path}.${name}`) : [`${path}.${name}: absent`],
  );
}

/** A UUID, or the id of a question. */
const anyId = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}';
const isId = new RegExp(`^(?:${anyId})$`);
const everyId = new RegExp(anyId, 'g');

/** Notes which id of ours stands where a recorded reply has one of its own. */
export function noteIds(recorded: unknown, ours: unknown, ids: Map<string, string>): void {
  if (typeof recorded === 'string' && typeof ours === 'string') {
    if (isId.test(recorded) && !ids.has(recorded)) ids.set(recorded, ours);
    return;
  }
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    recorded.forEach((item: unknown, index) => {
      noteIds(item, ours[index], ids);
    });
    return;
  }
  if (!isObject(recorded) || !isObject(ours)) return;
  for (const [name, value] of Object.entries(recorded)) noteIds(value, ours[name], ids);
}

/** A request in which the ids that are known are ours. */
export const withOurIds = (text: string, ids: ReadonlyMap<string, string>): string =>
  text.replaceAll(everyId, (id) => ids.get(id) ?? id);
