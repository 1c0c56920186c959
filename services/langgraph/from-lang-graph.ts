import { END, START, StateGraph, type CompiledGraph, type Field, type NodePolicy } from '@agent-workflow/graph';
import type { StepCode, StepState } from '@agent-workflow/graph/build/step-code';
import type { Fields } from '@agent-workflow/graph/state/field';
import { keptName } from '@agent-workflow/protos/step-tasks';
import { channelFields } from './channel-fields.ts';
import {
  breakpointsOf,
  checkGraph,
  checkSubgraphs,
  graphOf,
  sharedNamespaces,
  type LangGraphAgent,
} from './compiled.ts';
import { drawnGraph } from './drawn-graph.ts';
import { keptField, type Kept } from './kept.ts';
import { beginRun, runSuperStep, type Adapted } from './super-step.ts';

export interface LangGraphOptions {
  /**
   * The channel of the graph's messages: `messages` unless given. Its reducer must know messages by their ids, as that of `MessagesAnnotation`.
   * `null`: the graph has no messages; its input are the fields.
   */
  readonly messagesKey?: string | null;
  /**
   * Other channels that are fields of the state, by their names. At the start of a run a field that differs from its channel is input of the
   * graph; after each super-step the field has the value of its channel. Of what happens to updates, the channel's reducer decides.
   */
  readonly fields?: Readonly<Record<string, Field<unknown>>>;
  /** The LangGraph nodes whose models and messages are streamed, those of sub-graphs included; absent: all. */
  readonly streamedNodes?: readonly string[];
  /** How a super-step that fails is run again, and how long it may take. */
  readonly policy?: NodePolicy;
}

const optionNames: Readonly<Record<keyof LangGraphOptions, true>> = {
  messagesKey: true,
  fields: true,
  streamedNodes: true,
  policy: true,
};

/**
 * Makes an agent of a graph that LangGraph.js has compiled, or of what `createAgent` of `langchain` gives. Each super-step of it is one step, committed with its checkpoint; messages of the
 * thread are the input and the messages of the graph; its questions are those of the run.
 * @throws Error when the graph has no channel of messages, or one that cannot be kept.
 */
export function fromLangGraph(agent: LangGraphAgent, options: LangGraphOptions = {}): CompiledGraph {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined)
    throw new Error(`fromLangGraph has no option "${unknown}": ${Object.keys(optionNames).join(', ')}`);
  const graph = graphOf(agent);
  const { messagesKey = 'messages', fields = {}, streamedNodes, policy } = options;
  const own = messagesKey === null ? [] : [['messagesKey', messagesKey] as const];
  checkGraph(graph, [...own, ...Object.keys(fields).map((name) => ['fields', name] as const)]);
  refuseReducers(fields);
  const shown = channelFields(graph, messagesKey, fields);
  // In the order in which LangGraph merges what nodes of one super-step write, so that messages stand in the thread as in their channel.
  const nodes = Object.keys(graph.nodes)
    .filter((name) => name !== START)
    .toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const kept: Fields = { ...shown, [keptName]: keptField };
  const builder = new StateGraph(kept);
  const route = (values: Readonly<Record<string, unknown>>): string[] => [
    ...((values[keptName] as Kept | undefined)?.next ?? []),
  ];
  for (const node of nodes) {
    builder.addNode(node, runTogether, policy);
    builder.addConditionalEdges(node, route, [...nodes, END]);
  }
  builder.addConditionalEdges(START, route, [...nodes, END]);
  const breakpoints = breakpointsOf(graph);
  const compiled = builder.compile();
  return {
    ...compiled,
    drawing: drawnGraph(graph, messagesKey, compiled.drawing),
    steps: stepsOf({ graph, messagesKey, streamedNodes, fields: Object.keys(shown) }),
    ...(breakpoints && { breakpoints }),
  };
}

/** Nodes of LangGraph are run by LangGraph, all of a super-step together. */
function runTogether(): never {
  throw new Error('a node of LangGraph does not run by itself');
}

/** The code of the graph's steps. What is known of its sub-graphs is read once. */
function stepsOf(graph: Omit<Adapted, 'isShared'>): StepCode {
  let known: Promise<Adapted> | undefined;
  const adapted = (): Promise<Adapted> => (known ??= adapt(graph));
  const threadOf = ({ context: messages, ...values }: StepState) => ({
    ...{ kept: values[keptName] as Kept | undefined, values, messages },
  });
  return {
    begin: async (state, context) => beginRun(await adapted(), threadOf(state), context),
    run: async (state, context) => runSuperStep(await adapted(), threadOf(state), context),
  };
}

async function adapt(graph: Omit<Adapted, 'isShared'>): Promise<Adapted> {
  await checkSubgraphs(graph.graph);
  return { ...graph, isShared: await sharedNamespaces(graph.graph, graph.messagesKey) };
}

function refuseReducers(fields: Readonly<Record<string, Field<unknown>>>): void {
  for (const [name, { spec }] of Object.entries(fields))
    if (spec.reducer) throw new Error(`field "${name}" has a reducer: that of its channel counts`);
}
