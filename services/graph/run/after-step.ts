import {
  toContinuation,
  type Branch,
  type Continuation,
  type SubgraphPosition,
  type NodeResult,
} from './continuation.ts';

interface AfterStep {
  readonly nodes: readonly string[];
  /** Of each node. */
  readonly results: readonly NodeResult[];
  readonly joins?: Continuation['joins'] | undefined;
  /** The inputs of the branches that the step leads to, by node. */
  readonly inputs?: ReadonlyMap<string, readonly unknown[]> | undefined;
  readonly held?: NonNullable<Continuation['held']>;
}

/** What the step after this one must know: which of its nodes and branches wait, and which branches begin. */
export function continuationAfter({ nodes, results, joins, inputs, held = [] }: AfterStep): Continuation | undefined {
  const calls: Record<string, readonly string[]> = {};
  const graphs: Record<string, SubgraphPosition> = {};
  const branches: Record<string, readonly Branch[]> = {};
  results.forEach(({ position, openCalls = [], branches: all = [] }, index) => {
    const name = nodes[index] ?? '';
    // Those of a sub-graph and of branches are kept where they are waited for.
    const isOwn = !position && all.length === 0 && openCalls.length > 0;
    if (isOwn) calls[name] = openCalls.map(({ id }) => id);
    if (position) graphs[name] = position;
    if (all.length > 0) branches[name] = all;
  });
  for (const [name, list] of inputs ?? []) branches[name] = list.map((input, index) => ({ index, input }));
  const asking = results.flatMap(({ pending = [] }) => pending);
  const sleeping = results.flatMap(({ sleeping: own = [] }) => own);
  return toContinuation({ ...(joins && { joins }), asking, sleeping, calls, graphs, branches, held });
}
