import type { AnyNode, CompiledGraph } from '../build/graph.ts';
import { END, START } from '../build/names.ts';
import { isSend } from '../build/send.ts';

const known = new WeakMap<CompiledGraph, CompiledGraph>();

/**
 * The same graph, whose routes fail where they lead to what is none of their targets. The service follows such a route when the node is
 * there, but the drawing and the checks of `compile()` do not know of it.
 */
export function withStrictRoutes(graph: CompiledGraph): CompiledGraph {
  const same = known.get(graph);
  if (same) return same;
  const strict: CompiledGraph = {
    ...graph,
    nodes: new Map([...graph.nodes].map(([name, node]) => [name, strictNode(node)])),
    conditional: new Map(
      [...graph.conditional].map(([from, edges]) => [from, edges.map((edge) => strictEdge(from, edge))]),
    ),
  };
  known.set(graph, strict);
  known.set(strict, strict);
  return strict;
}

const strictNode = (node: AnyNode): AnyNode =>
  typeof node !== 'function' && 'nodes' in node ? withStrictRoutes(node) : node;

type Edge = NonNullable<ReturnType<CompiledGraph['conditional']['get']>>[number];

function strictEdge(from: string, edge: Edge): Edge {
  const { route, targets } = edge;
  if (!targets) return edge;
  return {
    ...edge,
    route: (state) => {
      const led = route(state);
      for (const target of [led].flat()) {
        const name: unknown = isSend(target) ? target.node : target;
        if (typeof name !== 'string' || name === END || targets.includes(name)) continue;
        const place = from === START ? 'START' : `"${from}"`;
        throw new Error(
          `the route from ${place} leads to "${name}", which is none of its targets: ${targets.join(', ')}`,
        );
      }
      return led;
    },
  };
}
