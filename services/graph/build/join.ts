/** An edge that leads on when all of its nodes have finished, in whichever steps. */
export interface Join {
  readonly id: string;
  readonly from: readonly string[];
  readonly to: string;
}

type Arrivals = Readonly<Record<string, readonly string[]>>;

/** A join of these nodes. Its id is made of their names alone, so that arrivals outlive the process. */
export function createJoin(from: readonly string[], to: string): Join {
  const names = [...new Set(from)];
  return { id: JSON.stringify([...names, to]), from: names, to };
}

/** Lets nodes arrive at the joins that wait for them: where the complete ones lead, and who has come to the others. */
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
