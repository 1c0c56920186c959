/**
 * Messages of a thread behind each other, by the ids of the first and the last, and of those around them: the message before, that after, and the last but
 * one, by which an end is found that has left the thread. `null`: there was none.
 */
export type Range = readonly [
  first: string,
  last: string,
  before: string | null,
  after: string | null,
  lastButOne: string | null,
];

/** The ids of a thread's messages, in its order, and where each stands. */
export interface Places {
  readonly ids: readonly string[];
  readonly positions: ReadonlyMap<string, number>;
}

export const placesOf = (ids: readonly string[]): Places => ({
  ids,
  positions: new Map(ids.map((id, index) => [id, index])),
});

/** The ids as ranges of a list, so that a long part of it is a few ids. `undefined` when one of them is not in the list. */
export function toRanges(ids: readonly string[], { ids: all, positions }: Places): readonly Range[] | undefined {
  const ranges: [from: number, to: number][] = [];
  for (const id of ids) {
    const at = positions.get(id);
    if (at === undefined) return undefined;
    const open = ranges.at(-1);
    // One message of the thread may be several in LangChain.
    if (open?.[1] === at) continue;
    if (open?.[1] === at - 1) open[1] = at;
    else ranges.push([at, at]);
  }
  return ranges.map(([from, to]) => [
    ...([all[from] ?? '', all[to] ?? ''] as const),
    ...([all[from - 1] ?? null, all[to + 1] ?? null, to > from ? (all[to - 1] ?? null) : null] as const),
  ]);
}

/** What is left of a range in a list. `undefined` when nobody can say where it began or ended, because the messages around an end have left, too. */
export function fromRange(range: Range, { ids, positions }: Places): readonly string[] | undefined {
  const [first, last, before, after, lastButOne] = range;
  const at = (id: string | null): number | undefined => (id === null ? undefined : positions.get(id));
  const next = (id: string | null, step: number): number | undefined => {
    const position = at(id);
    return position === undefined ? undefined : position + step;
  };
  // Messages come at the end alone, so one that was the first of the thread had none before it since.
  const from = at(first) ?? next(before, 1) ?? (before === null ? 0 : undefined);
  if (first === last && !positions.has(first)) return [];
  const to = at(last) ?? next(after, -1) ?? at(lastButOne);
  return from === undefined || to === undefined ? undefined : ids.slice(from, to + 1);
}
