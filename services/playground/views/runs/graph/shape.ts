import type { Json } from '@agent-workflow/client';
import { isObject } from '../log/run-log.ts';

export interface GraphNode {
  readonly id: string;
  /** `start`, `end`, `node`, `tools`, or `graph` for a sub-graph. */
  readonly type: string;
}

export interface GraphEdge {
  readonly source: string;
  readonly target: string;
  /** Whether a route of the graph decides if it is taken. */
  readonly conditional: boolean;
}

export interface GraphShape {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** The nodes and edges in a reply of `GET /v1/graph`. Edges that lead nowhere are left out; of two between the same nodes one stays. */
export function readGraph({ nodes, edges }: { readonly nodes?: Json; readonly edges?: Json }): GraphShape {
  const read = listOf(nodes).flatMap(({ id, type }) =>
    typeof id === 'string' ? [{ id, type: typeof type === 'string' ? type : 'node' }] : [],
  );
  const known = new Map(read.map((node) => [node.id, node]));
  const joined = new Map<string, GraphEdge>();
  for (const { source, target, conditional } of listOf(edges)) {
    if (typeof source !== 'string' || typeof target !== 'string' || !known.has(source) || !known.has(target)) continue;
    const key = JSON.stringify([source, target]);
    const before = joined.get(key);
    joined.set(key, { source, target, conditional: conditional === true && before?.conditional !== false });
  }
  return { nodes: [...known.values()], edges: [...joined.values()] };
}

const listOf = (value: Json): readonly Readonly<Record<string, Json>>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** What a node is called in the drawing. */
export function labelOf({ id, type }: GraphNode): string {
  if (type === 'start') return 'Start';
  return type === 'end' ? 'End' : id;
}
