import { drawing, type DrawnEdge, type Drawing, type GraphSchemas } from '@agent-workflow/graph/build/draw';
import { sizes } from '@agent-workflow/kit/sizes';
import {
  getConfigTypeSchema,
  getInputTypeSchema,
  getOutputTypeSchema,
  getStateTypeSchema,
} from '@langchain/langgraph/zod/schema';
import type { LangGraph } from './compiled.ts';

const [start, end] = ['__start__', '__end__'];

/** How deep sub-graphs are drawn in place of their nodes. */
const deepest = 5;

/**
 * The graph as LangGraph draws it, with its sub-graphs, and the schemas that it knows; without these where they are too large to be registered, and
 * as `otherwise` where LangGraph cannot draw it.
 */
export function drawnGraph(graph: LangGraph, messagesKey: string | null, otherwise: Drawing): Drawing {
  const narrowed = narrowedTo(graph, messagesKey);
  try {
    const whole = wholeDrawing(graph);
    const { nodes, edges, mermaid } = whole;
    const isLarge = Buffer.byteLength(JSON.stringify(whole)) > sizes.drawing;
    return { ...(isLarge ? { nodes, edges, mermaid } : whole), ...narrowed };
  } catch {
    return { ...otherwise, ...narrowed };
  }
}

/** The fields of the input and of the output of a graph, where these are not all that it has. */
function narrowedTo(graph: LangGraph, messagesKey: string | null): Pick<Drawing, 'input' | 'output'> {
  const all = ownChannels(graph);
  const { outputChannels, builder: { _inputDefinition: input = {} } = {} } = graph;
  const some = (names: readonly unknown[]): string[] | undefined => {
    const shown = all.filter((name) => names.includes(name));
    if (shown.length === 0 || shown.length === all.length) return undefined;
    return shown.map((name) => (name === messagesKey ? 'messages' : name));
  };
  const [given, taken] = [some([outputChannels].flat()), some(Object.keys(input))];
  return { ...(taken && { input: taken }), ...(given && { output: given }) };
}

function wholeDrawing(graph: LangGraph): Drawing {
  const subgraphs = [...graph.getSubgraphs(undefined, true)] as (readonly [string, LangGraph])[];
  const own = drawn(graph, false, subgraphs);
  const deeper = [];
  for (let depth = 1; depth <= deepest && subgraphs.length > 0; depth += 1) {
    const { nodes, edges } = drawn(graph, depth, subgraphs);
    if (deeper.at(-1)?.nodes.length === nodes.length) break;
    deeper.push({ nodes, edges });
  }
  const schemas = schemasOf(graph);
  return {
    ...own,
    ...(deeper.length > 0 && { xray: deeper }),
    ...(schemas && { schemas }),
    ...(subgraphs.length > 0 && {
      subgraphs: Object.fromEntries(
        subgraphs.map(([name, sub]) => [name, { fields: ownChannels(sub), ...shown(sub) }]),
      ),
    }),
  };
}

const shown = (graph: LangGraph): { readonly schemas?: GraphSchemas } => {
  const schemas = schemasOf(graph);
  return schemas ? { schemas } : {};
};

const ownChannels = ({ channels }: LangGraph): string[] => Object.keys(channels).filter((name) => !/^__|:/.test(name));

function drawn(
  graph: LangGraph,
  xray: number | boolean,
  subgraphs: readonly (readonly [name: string, graph: LangGraph])[],
): ReturnType<typeof drawing> {
  const { nodes, edges } = graph.getGraph({ xray });
  const inner = new Set(subgraphs.map(([name]) => name));
  const ids = Object.keys(nodes).filter((id) => id !== start && id !== end);
  return drawing(
    [
      { id: start, type: 'start' },
      ...ids.map((id) => ({ id: nameOf(id), type: typeOf(inner.has(nameOf(id)), nodes[id]) })),
      { id: end, type: 'end' },
    ],
    edges.map(({ source, target, conditional = false }): DrawnEdge => ({
      ...{ source: nameOf(source), target: nameOf(target), conditional },
    })),
  );
}

/** LangGraph puts words of Mermaid into quotes. */
const nameOf = (id: string): string => /^"(.*)"$/s.exec(id)?.[1] ?? id;

function typeOf(isGraph: boolean, node: { readonly metadata?: object | undefined } | undefined): string {
  if (isGraph) return 'graph';
  return node?.metadata && '__tools' in node.metadata ? 'tools' : 'node';
}

/** The JSON Schemas of a graph that was made with schemas; `undefined` for any other. */
function schemasOf(graph: LangGraph): GraphSchemas | undefined {
  const entries = Object.entries({
    input: getInputTypeSchema,
    output: getOutputTypeSchema,
    state: getStateTypeSchema,
    config: getConfigTypeSchema,
  }).flatMap(([name, read]) => {
    const schema = schemaBy(() => read(graph));
    return schema ? [[name, schema] as const] : [];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** A schema that JSON Schema cannot say is none. */
function schemaBy(read: () => unknown): object | undefined {
  try {
    const schema = JSON.parse(JSON.stringify(read() ?? null)) as unknown;
    return typeof schema === 'object' && schema !== null ? schema : undefined;
  } catch {
    return undefined;
  }
}
