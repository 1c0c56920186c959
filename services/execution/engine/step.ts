import type { Block, Message } from '@agent-workflow/protos/message';
import { openCalls } from './calls.ts';
import type { NodeContext, RunContext } from './context.ts';
import { messageOf, RunFailure } from './failure.ts';
import { END, START, type CompiledGraph, type NodeFunction } from './graph.ts';
import { mergeOutputs, type Delta, type NodeOutput } from './merge.ts';
import { draftMessage, toMessage, type Piece } from './message.ts';
import type { EngineState, NewMessage } from './state.ts';
import type { ToolNode } from './tool.ts';
import { answerCall } from './tools.ts';

/** One super-step: the nodes that run side by side on one state. */
export interface Step {
  readonly graph: CompiledGraph;
  readonly nodes: readonly string[];
  readonly number: number;
  readonly state: EngineState;
  readonly run: RunContext;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  /** Hears every piece as it is emitted. */
  readonly onPiece: (node: string, piece: Piece) => void;
}

export interface StepResult {
  readonly state: EngineState;
  readonly delta: Delta;
  /** The nodes of the next step; none when the graph has ended. */
  readonly next: readonly string[];
  /** Messages that were streamed as they were made. */
  readonly streamed: ReadonlySet<string>;
  /** Whether a tool node waits for the caller: the run is interrupted and goes on with `next`. */
  readonly waiting: boolean;
}

/** The nodes that a run begins with. */
export const entryNodes = (graph: CompiledGraph, state: EngineState): readonly string[] =>
  successors(graph, [START], state);

/**
 * Runs the nodes of a step side by side and merges what they give.
 * @throws RunFailure naming the node; the other nodes of the step are told by nothing, their results are dropped.
 */
export async function runStep(step: Step): Promise<StepResult> {
  const streamed = new Set<string>();
  const results = await runNodes(step, streamed);
  const { state, delta } = mergeOutputs(step.graph.fields, step.state, results);
  const waiting = results.filter((result) => result.waiting).map(({ node }) => node);
  const done = step.nodes.filter((name) => !waiting.includes(name));
  return {
    state,
    delta,
    next: [...waiting, ...successors(step.graph, done, state)],
    streamed,
    waiting: waiting.length > 0,
  };
}

/** Once the step is over, by a failure too, nobody hears what a node that was left running still says. */
async function runNodes(step: Step, streamed: Set<string>): Promise<readonly NodeResult[]> {
  let over = false;
  const onPiece: Step['onPiece'] = (node, piece) => {
    if (!over) step.onPiece(node, piece);
  };
  const heard = { ...step, onPiece };
  try {
    const work = Promise.all(step.nodes.map((name) => runNode(heard, name, streamed)));
    return await unlessAborted(work, step.run.signal);
  } finally {
    over = true;
  }
}

/** A node that does not heed its signal is left behind: a stopped run holds nobody up. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

type NodeResult = NodeOutput & { readonly waiting: boolean };

async function runNode(step: Step, name: string, streamed: Set<string>): Promise<NodeResult> {
  const node = step.graph.nodes.get(name);
  if (!node) throw new RunFailure('GRAPH_ERROR', `the graph has no node "${name}"`, { node: name });
  try {
    return typeof node === 'function'
      ? await runFunction(step, name, node, streamed)
      : await runTools(step, name, node);
  } catch (error) {
    if (error instanceof RunFailure || step.run.signal.aborted) throw error;
    throw new RunFailure('NODE_ERROR', `node "${name}" failed: ${messageOf(error)}`, { node: name, cause: error });
  }
}

async function runFunction(
  step: Step,
  name: string,
  node: NodeFunction<Record<string, never>>,
  streamed: Set<string>,
): Promise<NodeResult> {
  const toBlock = (block: Block): Block => markRemote(block, step.isRemote);
  const draft = draftMessage(toBlock);
  let over = false;
  const context: NodeContext = {
    ...step.run,
    node: name,
    step: step.number,
    emit: (piece) => {
      // Work that a node left behind must not add to a message that is finished.
      if (over || piece === '') return;
      step.onPiece(name, draft.add(piece));
    },
  };
  try {
    const update = await node({ ...step.state.values, context: step.state.context.slice() } as never, context);
    const emitted = draft.finish();
    if (emitted) streamed.add(emitted.message_id);
    return toOutput(name, update ?? {}, emitted, toBlock);
  } finally {
    over = true;
  }
}

function toOutput(
  node: string,
  update: object,
  emitted: Message | undefined,
  toBlock: (block: Block) => Block,
): NodeResult {
  if (typeof update !== 'object' || Array.isArray(update))
    throw new RunFailure('NODE_ERROR', `node "${node}" returned no object of fields`, { node });
  const { messages = [], ...fields } = update as { messages?: readonly NewMessage[] } & Record<string, unknown>;
  const whole = messages.map((message) => toMessage(message, toBlock));
  const mayReplace = messages.some((message) => message.message_id !== undefined);
  return { node, fields, messages: emitted ? [emitted, ...whole] : whole, mayReplace, waiting: false };
}

async function runTools(step: Step, name: string, { tools }: ToolNode): Promise<NodeResult> {
  const open = openCalls(step.state.context);
  const here = open.filter((call) => !step.isRemote(call.name));
  const messages = await Promise.all(here.map((call) => answerCall(tools, call, { run: step.run, step: step.number })));
  return { node: name, fields: {}, messages, mayReplace: false, waiting: here.length < open.length };
}

const markRemote = (block: Block, isRemote: (tool: string) => boolean): Block =>
  block.type === 'tool_call' && typeof block['name'] === 'string' && isRemote(block['name'])
    ? { ...block, type: 'remote_tool_call' }
    : block;

/** Where edges lead from these nodes, each once, in the order of the graph. */
function successors(graph: CompiledGraph, from: readonly string[], state: EngineState): readonly string[] {
  const reached = new Set(from.flatMap((name) => [...(graph.edges.get(name) ?? []), ...routed(graph, name, state)]));
  reached.delete(END);
  if (reached.size <= 1) return [...reached];
  return [...graph.nodes.keys()].filter((name) => reached.has(name));
}

function routed(graph: CompiledGraph, name: string, { values, context }: EngineState): string[] {
  const edges = graph.conditional.get(name);
  if (!edges) return [];
  return edges.flatMap(({ route }) => {
    const targets = [callRoute(route, name, { ...values, context })].flat();
    const lost = targets.find((target) => target !== END && !graph.nodes.has(target));
    if (lost !== undefined)
      throw new RunFailure('GRAPH_ERROR', `the edge from "${name}" leads to the unknown node "${lost}"`, {
        node: name,
      });
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
    throw new RunFailure('GRAPH_ERROR', `the edge from "${node}" failed: ${messageOf(cause)}`, { node, cause });
  }
}
