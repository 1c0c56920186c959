/** A row that is not as high as the others, in pixels. */
export interface TallRow {
  readonly at: number;
  readonly height: number;
}

/** Where rows stand in a list that is as high as all of them, in pixels. */
interface RowPlaces {
  readonly total: number;
  readonly topOf: (index: number) => number;
  readonly heightOf: (index: number) => number;
  /** The row that a height falls upon: the first or last one beyond the ends. */
  readonly indexAt: (top: number) => number;
}

/** Places of `count` rows of one height, but for some, which come in their order. */
export function rowPlaces(count: number, height: number, tall: readonly TallRow[] = []): RowPlaces {
  const more = sumsOf(tall.map((row) => row.height - height));
  const before = (index: number): number => more[firstFrom(tall, index)] ?? 0;
  const topOf = (index: number): number => index * height + before(index);
  const heightOf = (index: number): number => {
    const row = tall[firstFrom(tall, index)];
    return row?.at === index ? row.height : height;
  };
  const indexAt = (top: number): number => {
    let [low, high] = [0, Math.max(0, count - 1)];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (topOf(middle) <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return { total: topOf(count), topOf, heightOf, indexAt };
}

/** The sums of what stands before each, and of all at the end. */
function sumsOf(numbers: readonly number[]): readonly number[] {
  const sums = [0];
  for (const each of numbers) sums.push((sums.at(-1) ?? 0) + each);
  return sums;
}

/** The first of the tall rows that is at `index` or behind it. */
function firstFrom(tall: readonly TallRow[], index: number): number {
  let [low, high] = [0, tall.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((tall[middle]?.at ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  return low;
}
