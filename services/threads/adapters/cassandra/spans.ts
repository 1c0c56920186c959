/**
 * Sets of positions as spans `[first, last]`, ascending and apart from each other. A context is mostly one span, so that it fits
 * into the head, and leaving it touches no message.
 */
export type Span = readonly [first: number, last: number];
export type Spans = readonly Span[];

export function toSpans(positions: readonly number[]): Spans {
  const spans: [number, number][] = [];
  for (const position of positions.toSorted((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last && position <= last[1] + 1) last[1] = Math.max(last[1], position);
    else spans.push([position, position]);
  }
  return spans;
}

export function union(a: Spans, b: Spans): Spans {
  if (b.length === 0) return a;
  const spans: [number, number][] = [];
  for (const [first, lastOf] of [...a, ...b].toSorted((one, other) => one[0] - other[0])) {
    const last = spans.at(-1);
    if (last && first <= last[1] + 1) last[1] = Math.max(last[1], lastOf);
    else spans.push([first, lastOf]);
  }
  return spans;
}

export function subtract(from: Spans, taken: Spans): Spans {
  if (taken.length === 0) return from;
  const spans: Span[] = [];
  let next = 0;
  for (const [first, last] of from) {
    let start = first;
    while (next < taken.length && (taken[next] as Span)[1] < start) next += 1;
    for (let at = next; at < taken.length && (taken[at] as Span)[0] <= last; at += 1) {
      const [takenFirst, takenLast] = taken[at] as Span;
      if (takenFirst > start) spans.push([start, takenFirst - 1]);
      start = Math.max(start, takenLast + 1);
    }
    if (start <= last) spans.push([start, last]);
  }
  return spans;
}

export const within = (spans: Spans, position: number): boolean =>
  spans.some(([first, last]) => first <= position && position <= last);

export const positionsIn = (spans: Spans): number[] =>
  spans.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));

/** The last `count` positions, ascending, and the spans before them. */
export function takeNewest(spans: Spans, count: number): { readonly newest: readonly number[]; readonly rest: Spans } {
  const newest: number[] = [];
  const rest = [...spans];
  for (let span = rest.pop(); span; span = rest.pop()) {
    const [first, last] = span;
    const from = Math.max(first, last - (count - newest.length) + 1);
    for (let position = last; position >= from; position--) newest.push(position);
    if (from > first) rest.push([first, from - 1]);
    if (newest.length === count) break;
  }
  return { newest: newest.reverse(), rest };
}

/** Spans with less than `gap` positions between them as one: to read a little too much in fewer reads. */
export function bridged(spans: Spans, gap: number): Spans {
  const wide: [number, number][] = [];
  for (const [first, lastOf] of spans) {
    const last = wide.at(-1);
    if (last && first - last[1] <= gap) last[1] = lastOf;
    else wide.push([first, lastOf]);
  }
  return wide;
}

/** As numbers: the distance from the span before, then how much longer than one position. */
export function encode(spans: Spans): number[] {
  let before = 0;
  return spans.flatMap(([first, last]) => {
    const pair = [first - before, last - first];
    before = last;
    return pair;
  });
}

export function decode(numbers: readonly number[]): Spans {
  const spans: Span[] = [];
  let before = 0;
  for (let at = 0; at + 1 < numbers.length; at += 2) {
    const first = before + (numbers[at] as number);
    before = first + (numbers[at + 1] as number);
    spans.push([first, before]);
  }
  return spans;
}
