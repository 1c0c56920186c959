/** How many messages are read at once. */
export const pageSize = 100;

/** How many places are probed side by side. */
const probesAtOnce = 6;

/**
 * Where to read the end of a list of unknown length: one to three pages before it. A list of 10,000 items takes three rounds
 * of six probes.
 * @param exists whether the list has an item at this place
 */
export async function findNewestPage(exists: (offset: number) => Promise<boolean>): Promise<number> {
  let from = 0;
  let to = Number.POSITIVE_INFINITY;
  for (let width = 4 * pageSize; to === Number.POSITIVE_INFINITY; width *= 4 ** probesAtOnce) {
    const places = Array.from({ length: probesAtOnce }, (_, index) => width * 4 ** index);
    [from, to] = await narrowed(places, { from, to, exists });
  }
  while (to - from >= 2 * pageSize) {
    const part = Math.max(pageSize, Math.ceil((to - from) / (probesAtOnce + 1)));
    const places = Array.from({ length: probesAtOnce }, (_, index) => from + part * (index + 1)).filter(
      (place) => place < to,
    );
    [from, to] = await narrowed(places, { from, to, exists });
  }
  return Math.max(0, from - pageSize);
}

interface Range {
  /** The list has an item here, or it is the start. */
  readonly from: number;
  /** The list has no item here. */
  readonly to: number;
  readonly exists: (offset: number) => Promise<boolean>;
}

async function narrowed(places: readonly number[], { from, to, exists }: Range): Promise<[number, number]> {
  const found = await Promise.all(places.map(exists));
  const firstMissing = found.indexOf(false);
  const last = firstMissing === -1 ? places.length - 1 : firstMissing - 1;
  return [places[last] ?? from, firstMissing === -1 ? to : (places[firstMissing] ?? to)];
}
