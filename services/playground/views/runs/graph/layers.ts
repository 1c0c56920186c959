import type { GraphEdge, GraphShape } from './shape.ts';

/** The nodes of a graph in layers, so that every edge leads downwards except those that close a cycle. */
interface Layered {
  /** The layer of each node, from 0. */
  readonly layers: ReadonlyMap<string, number>;
  /** Edges that lead downwards. */
  readonly down: readonly GraphEdge[];
  /** Edges that lead back, to an earlier layer or to their own node. */
  readonly back: readonly GraphEdge[];
}

/** A node is a layer below the lowest that leads to it; the end is below all. */
export function toLayers({ nodes, edges }: GraphShape): Layered {
  const { order, back } = walk({ nodes, edges });
  const down = edges.filter((edge) => !back.has(edge));
  const leaving = bySource(down);
  const layers = new Map(order.map((id) => [id, 0]));
  for (const id of order) {
    const below = (layers.get(id) ?? 0) + 1;
    for (const { target } of leaving.get(id) ?? []) layers.set(target, Math.max(layers.get(target) ?? 0, below));
  }
  const lowest = Math.max(0, ...layers.values());
  for (const { id, type } of nodes) {
    if (type !== 'end' || leaving.has(id)) continue;
    const isAlone = nodes.some((node) => node.id !== id && layers.get(node.id) === lowest);
    layers.set(id, isAlone ? lowest + 1 : lowest);
  }
  return { layers, down, back: [...back] };
}

/** A walk in depth: the nodes so that each stands before those it leads to, and the edges that close a cycle. */
function walk({ nodes, edges }: GraphShape): {
  readonly order: readonly string[];
  readonly back: ReadonlySet<GraphEdge>;
} {
  const leaving = bySource(edges);
  const left: string[] = [];
  const entered = new Set<string>();
  const open = new Set<string>();
  const back = new Set<GraphEdge>();
  for (const { id: root } of nodes) {
    const path = entered.has(root) ? [] : [{ id: root, next: 0 }];
    entered.add(root);
    for (const { id } of path) open.add(id);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = leaving.get(top.id)?.[top.next++];
      if (edge === undefined) {
        path.pop();
        open.delete(top.id);
        left.push(top.id);
      } else if (open.has(edge.target)) back.add(edge);
      else if (!entered.has(edge.target)) {
        entered.add(edge.target);
        open.add(edge.target);
        path.push({ id: edge.target, next: 0 });
      }
    }
  }
  return { order: left.toReversed(), back };
}

function bySource(edges: readonly GraphEdge[]): ReadonlyMap<string, readonly GraphEdge[]> {
  return Map.groupBy(edges, ({ source }) => source);
}
