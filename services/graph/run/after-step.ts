import { toContinuation, type Branch, type Continuation, type SubgraphPosition } from './continuation.ts';
import type { NodeResult } from './super-step.ts';

interface AfterStep {
  readonly nodes: readonly string[];
  /** Of each node. */
  readonly results: readonly NodeResult[];
  readonly joins?: NonNullable<Continuation['joins']>;
  /** The inputs of the branches that the step leads to, by node. */
  readonly inputs?: ReadonlyMap<string, readonly unknown[]>;
}

/** What the step after this one must know: which of its nodes and branches wait, and which branches begin. */
export function continuationAfter({ nodes, results, joins = {}, inputs }: AfterStep): Continuation | undefined {
  const graphs: Record<string, SubgraphPosition> = {};
  const branches: Record<string, readonly Branch[]> = {};
  results.forEach(({ position, branches: waiting = [] }, index) => {
    const name = nodes[index] ?? '';
    if (position) graphs[name] = position;
    if (waiting.length > 0) branches[name] = waiting;
  });
  for (const [name, list] of inputs ?? []) {
    const waiting = branches[name] ?? [];
    const first = (waiting.at(-1)?.index ?? -1) + 1;
    branches[name] = [...waiting, ...list.map((input, index) => ({ index: first + index, input }))];
  }
  return toContinuation({ joins, asking: results.flatMap(({ pending = [] }) => pending), graphs, branches });
}
