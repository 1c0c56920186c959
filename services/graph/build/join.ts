/** An edge from several nodes: the graph follows it when all of them have finished, in whichever steps. */
export interface Join {
  readonly id: string;
  readonly from: readonly string[];
  readonly to: string;
}

type Arrivals = Readonly<Record<string, readonly string[]>>;

/** A join of these nodes. Its id is made of their names alone, so that stored arrivals fit the graph after a restart. */
export function createJoin(from: readonly string[], to: string): Join {
  const names = [...new Set(from)];
  return { id: JSON.stringify([...names, to]), from: names, to };
}

/** Adds the nodes that have finished to the joins that wait for them. Returns the nodes to which complete joins lead, and the arrivals at the others. */
export function arrive(
  joins: readonly Join[],
  before: Arrivals,
  done: readonly string[],
): { readonly reached: readonly string[]; readonly arrivals: Arrivals } {
  if (joins.length === 0) return { reached: [], arrivals: {} };
  const reached: string[] = [];
  const arrivals: Record<string, readonly string[]> = {};
  for (const { id, from, to } of joins) {
    const earlier = before[id] ?? [];
    const here = from.filter((name) => earlier.includes(name) || done.includes(name));
    if (here.length === from.length) reached.push(to);
    else if (here.length > 0) arrivals[id] = here;
  }
  return { reached, arrivals };
}
