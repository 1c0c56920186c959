/** Messages of a thread behind each other, by the ids of the first and the last. */
export type Range = readonly [first: string, last: string];

/** Where each of these ids stands. */
export const positionsOf = (ids: readonly string[]): ReadonlyMap<string, number> =>
  new Map(ids.map((id, index) => [id, index]));

/** The ids as ranges of a list, so that a long part of it is two ids. `undefined` when one of them is not in the list. */
export function toRanges(ids: readonly string[], positions: ReadonlyMap<string, number>): readonly Range[] | undefined {
  const ranges: [first: string, last: string][] = [];
  let end = -1;
  for (const id of ids) {
    const at = positions.get(id);
    if (at === undefined) return undefined;
    const open = ranges.at(-1);
    // One message of the thread may be several in LangChain.
    if (open && at === end) continue;
    if (open && at === end + 1) open[1] = id;
    else ranges.push([id, id]);
    end = at;
  }
  return ranges;
}

/** The ids of ranges in a list; `undefined` when it lacks the end of one. */
export function fromRanges(ranges: readonly Range[], ids: readonly string[]): readonly string[] | undefined {
  const positions = positionsOf(ids);
  const found: string[] = [];
  for (const [first, last] of ranges) {
    const [from, to] = [positions.get(first), positions.get(last)];
    if (from === undefined || to === undefined) return undefined;
    found.push(...ids.slice(from, to + 1));
  }
  return found;
}
