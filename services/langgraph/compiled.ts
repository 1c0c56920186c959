import type { CompiledGraph } from '@agent-workflow/graph';
import type { BaseCheckpointSaver } from '@langchain/langgraph';
import type { StateTask } from './step-tasks.ts';

/** What is used of a graph that LangGraph.js has compiled, of whichever copy of the package. */
export interface LangGraph {
  checkpointer?: BaseCheckpointSaver | boolean | undefined;
  readonly channels: Readonly<Record<string, unknown>>;
  readonly nodes: Readonly<Record<string, { readonly triggers?: readonly string[] }>>;
  readonly outputChannels?: unknown;
  /** Of a graph that was built with schemas: the channels of its input. */
  readonly builder?: { readonly _inputDefinition?: object };
  readonly interruptBefore?: unknown;
  readonly interruptAfter?: unknown;
  getSubgraphsAsync(namespace?: string, recurse?: boolean): AsyncIterable<readonly [name: string, graph: unknown]>;
  getSubgraphs(namespace?: string, recurse?: boolean): Iterable<readonly [name: string, graph: unknown]>;
  getGraph(options: { readonly xray: boolean | number }): {
    readonly nodes: Readonly<Record<string, { readonly metadata?: object | undefined }>>;
    readonly edges: readonly {
      readonly source: string;
      readonly target: string;
      readonly conditional?: boolean | undefined;
    }[];
  };
  withConfig(config: object): unknown;
  stream(input: unknown, options: object): Promise<AsyncIterable<unknown>>;
  getState(config: object): Promise<{
    readonly next: readonly string[];
    readonly tasks: readonly StateTask[];
  }>;
}

/** A compiled graph, or an agent of the package `langchain`, which holds one. */
export type LangGraphAgent = LangGraph | { readonly graph: LangGraph };

/** @throws TypeError when it is given no object, which JavaScript lets pass. */
export function graphOf(agent: LangGraphAgent): LangGraph {
  const given: unknown = agent;
  if (typeof given === 'object' && given !== null) return 'graph' in agent ? agent.graph : agent;
  const what = given === null ? 'null' : typeof given;
  throw new TypeError(`fromLangGraph takes a graph that LangGraph.js has compiled, not ${what}`);
}

/** @throws Error when the graph lacks a channel of `names`, or has what the adapter cannot keep. */
export function checkGraph(graph: LangGraph, names: readonly (readonly [option: string, channel: string])[]): void {
  const isCompiled = typeof graph.getSubgraphsAsync === 'function' && typeof graph.withConfig === 'function';
  if (!isCompiled)
    throw new TypeError('fromLangGraph takes a graph that LangGraph.js has compiled: call compile() on it');
  const { channels } = graph;
  for (const [option, name] of names) {
    if (Object.hasOwn(channels, name)) continue;
    const own = Object.keys(channels).filter((channel) => !/^__|:/.test(channel));
    throw new Error(
      `${option}: the LangGraph graph has no channel "${name}", it has ${own.join(', ')}${option === 'messagesKey' ? '; null says that it has no messages' : ''}`,
    );
  }
  refuseUnkept(graph, '');
}

/** @throws Error as {@link checkGraph}, for the sub-graphs. */
export async function checkSubgraphs(graph: LangGraph): Promise<void> {
  for await (const [name, sub] of graph.getSubgraphsAsync(undefined, true))
    refuseBreakpoints(sub as LangGraph, ` of the sub-graph "${name}"`);
}

/** A sub-graph runs within the step of its node, where nothing stops. */
function refuseBreakpoints(graph: LangGraph, where: string): void {
  refuseUnkept(graph, where);
  const { interruptBefore, interruptAfter } = graph;
  for (const [option, nodes] of Object.entries({ interruptBefore, interruptAfter }))
    if (namesOf(nodes).length > 0)
      throw new Error(`${option}${where}: a sub-graph does not stop at breakpoints, call interrupt() in the node`);
}

/** The nodes before or after which a graph stops, as it was compiled. */
const namesOf = (nodes: unknown): readonly string[] =>
  nodes === '*' ? ['*'] : Array.isArray(nodes) ? nodes.map(String) : [];

/** The breakpoints with which a graph was compiled; `undefined` where it has none. */
export function breakpointsOf({ interruptBefore, interruptAfter }: LangGraph): CompiledGraph['breakpoints'] {
  const [before, after] = [namesOf(interruptBefore), namesOf(interruptAfter)];
  return before.length + after.length === 0 ? undefined : { before, after };
}

/**
 * Finds the nodes of which the messages become messages of the graph, by the namespaces that LangGraph gives to their runs: of its own, and of
 * those in sub-graphs that are nodes and give out the channel. A graph that the code of a node calls is none of these.
 */
export async function sharedNamespaces(
  graph: LangGraph,
  messagesKey: string | null,
): Promise<(namespace: string) => boolean> {
  const shared = new Set<string>();
  for await (const [name, sub] of graph.getSubgraphsAsync(undefined, true)) {
    const { outputChannels } = sub as LangGraph;
    const given: unknown[] = Array.isArray(outputChannels) ? outputChannels : [outputChannels];
    if (messagesKey !== null && given.includes(messagesKey)) shared.add(name);
  }
  return (namespace) => {
    // Each part is the name of a node, a colon and the id of its run; the last is the node itself.
    const path = namespace.split('|').map((part) => part.replace(/:[^:]*$/, ''));
    return path.slice(0, -1).every((_, index) => shared.has(path.slice(0, index + 1).join('|')));
  };
}

function refuseUnkept({ channels }: LangGraph, where: string): void {
  for (const [name, channel] of Object.entries(channels))
    if ((channel as { readonly lc_graph_name?: string }).lc_graph_name === 'DeltaChannel')
      throw new Error(
        `channel "${name}"${where} is a DeltaChannel: it needs every older checkpoint, and only the latest is kept`,
      );
}

/** The graph with this checkpointer. The given one stays as it is, because many runs use it at once. */
export function withSaver(graph: LangGraph, saver: BaseCheckpointSaver): LangGraph {
  const own = graph.withConfig({}) as LangGraph;
  own.checkpointer = saver;
  return own;
}
