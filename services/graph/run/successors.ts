import { explain, messageOf, RunFailure } from '../state/failure.ts';
import { END, START } from '../build/names.ts';
import type { CompiledGraph } from '../build/graph.ts';
import type { EngineState } from '../state/state.ts';

/** The nodes to which the edges from `from` lead, and those in `joined`, each once, in the order of the graph. */
export function successors(
  graph: CompiledGraph,
  from: readonly string[],
  state: EngineState,
  joined: readonly string[] = [],
): readonly string[] {
  const led = from.flatMap((name) => [...(graph.edges.get(name) ?? []), ...routed(graph, name, state)]);
  const reached = new Set([...led, ...joined]);
  reached.delete(END);
  if (reached.size <= 1) return [...reached];
  return [...graph.nodes.keys()].filter((name) => reached.has(name));
}

/** The nodes with which a run of the graph begins. */
export const entryNodes = (graph: CompiledGraph, state: EngineState): readonly string[] =>
  successors(graph, [START], state);

function routed(graph: CompiledGraph, name: string, { values, context }: EngineState): string[] {
  const edges = graph.conditional.get(name);
  if (!edges) return [];
  return edges.flatMap(({ route }) => {
    const targets = [callRoute(route, name, { ...values, context })].flat();
    const lost = targets.findIndex((target) => target !== END && !graph.nodes.has(target));
    if (lost !== -1)
      throw new RunFailure(
        'GraphFailed',
        `the edge from "${name}" leads to the unknown node "${messageOf(targets[lost])}"`,
        { node: name },
      );
    return targets;
  });
}

function callRoute(
  route: (state: never) => string | readonly string[],
  node: string,
  state: object,
): string | readonly string[] {
  try {
    return route(state as never);
  } catch (cause) {
    throw new RunFailure('GraphFailed', `the edge from "${node}" failed: ${explain(cause)}`, { node, cause });
  }
}
