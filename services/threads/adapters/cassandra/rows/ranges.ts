/**
 * Sets of positions as ranges `[first, last]`, ascending and apart from each other. A context is mostly one range, so that it fits
 * into the head, and a message leaves it without a write of the message.
 */
export type Range = readonly [first: number, last: number];
export type Ranges = readonly Range[];

export function toRanges(positions: readonly number[]): Ranges {
  const ranges: [number, number][] = [];
  for (const position of positions.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && position <= last[1] + 1) last[1] = Math.max(last[1], position);
    else ranges.push([position, position]);
  }
  return ranges;
}

export function union(a: Ranges, b: Ranges): Ranges {
  if (b.length === 0) return a;
  const ranges: [number, number][] = [];
  for (const [first, lastOf] of [...a, ...b].toSorted((one, other) => one[0] - other[0])) {
    const last = ranges.at(-1);
    if (last && first <= last[1] + 1) last[1] = Math.max(last[1], lastOf);
    else ranges.push([first, lastOf]);
  }
  return ranges;
}

export function subtract(from: Ranges, taken: Ranges): Ranges {
  if (taken.length === 0) return from;
  const ranges: Range[] = [];
  let next = 0;
  for (const [first, last] of from) {
    let start = first;
    while (next < taken.length && (taken[next] as Range)[1] < start) next += 1;
    for (let at = next; at < taken.length && (taken[at] as Range)[0] <= last; at += 1) {
      const [takenFirst, takenLast] = taken[at] as Range;
      if (takenFirst > start) ranges.push([start, takenFirst - 1]);
      start = Math.max(start, takenLast + 1);
    }
    if (start <= last) ranges.push([start, last]);
  }
  return ranges;
}

export const within = (ranges: Ranges, position: number): boolean =>
  ranges.some(([first, last]) => first <= position && position <= last);

export const positionsIn = (ranges: Ranges): number[] =>
  ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));

/** The last `count` positions, ascending, and the ranges before them. */
export function takeNewest(
  ranges: Ranges,
  count: number,
): { readonly newest: readonly number[]; readonly rest: Ranges } {
  const newest: number[] = [];
  const rest = [...ranges];
  for (let range = rest.pop(); range; range = rest.pop()) {
    const [first, last] = range;
    const from = Math.max(first, last - (count - newest.length) + 1);
    for (let position = last; position >= from; position--) newest.push(position);
    if (from > first) rest.push([first, from - 1]);
    if (newest.length === count) break;
  }
  return { newest: newest.reverse(), rest };
}

/** Ranges with less than `gap` positions between them as one: to read a little too much in fewer reads. */
export function bridged(ranges: Ranges, gap: number): Ranges {
  const wide: [number, number][] = [];
  for (const [first, lastOf] of ranges) {
    const last = wide.at(-1);
    if (last && first - last[1] <= gap) last[1] = lastOf;
    else wide.push([first, lastOf]);
  }
  return wide;
}

/** As numbers: the distance from the range before, then how much longer than one position. */
export function encode(ranges: Ranges): number[] {
  let before = 0;
  return ranges.flatMap(([first, last]) => {
    const pair = [first - before, last - first];
    before = last;
    return pair;
  });
}

export function decode(numbers: readonly number[]): Ranges {
  const ranges: Range[] = [];
  let before = 0;
  for (let at = 0; at + 1 < numbers.length; at += 2) {
    const first = before + (numbers[at] as number);
    before = first + (numbers[at + 1] as number);
    ranges.push([first, before]);
  }
  return ranges;
}
