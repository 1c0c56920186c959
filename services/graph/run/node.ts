import type { Block, CallBlock, Message } from '@agent-workflow/protos/message';
import { tryOften } from './attempt.ts';
import { openCalls } from '../state/calls.ts';
import { answersFor, type Asking } from './carry.ts';
import type { NodeContext, RunContext, ToolContext } from '../build/context.ts';
import { explain, RunFailure } from '../state/failure.ts';
import type { AnyNode, NodeFunction } from '../build/graph.ts';
import { askingAs, createAsker } from './interrupt.ts';
import { draftMessage, toMessages } from '../state/message.ts';
import { unlessAsked } from './once.ts';
import { NodeTimeout } from '../build/policy.ts';
import type { NewMessage } from '../state/state.ts';
import type { NodeResult, Step, TakeStep } from './super-step.ts';
import { runSubgraph } from './subgraph.ts';
import type { Tool, ToolNode } from '../build/tool.ts';
import { answerCall } from './tools.ts';

/**
 * Runs one node of a step under its policy. `takeStep` is what the steps of a sub-graph are taken with.
 * @throws RunFailure naming the node.
 */
export async function runNode(step: Step, name: string, takeStep: TakeStep): Promise<NodeResult> {
  const node = step.graph.nodes.get(name);
  if (!node) throw new RunFailure('GraphFailed', `the graph has no node "${name}"`, { node: name });
  const policy = step.graph.policies.get(name);
  const { signal } = step.run;
  try {
    if (!policy) return await runOnce(step, name, node, takeStep);
    const onRestart = (attempt: number, error: unknown): void => {
      step.onFault?.({ node: name, attempt: attempt - 1, error });
      step.onRestart?.(name, attempt);
    };
    return await tryOften({ policy, signal, onRestart }, async (own) =>
      runOnce({ ...step, run: runUnder(step, own) }, name, node, takeStep),
    );
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof RunFailure) throw error.node === undefined ? named(name, error) : error;
    const says = error instanceof NodeTimeout ? error.message : `failed: ${explain(error)}`;
    throw new RunFailure('NodeFailed', `node "${name}" ${says}`, { node: name, cause: error });
  }
}

/** The run as nodes see it that end with this signal. */
export const runUnder = ({ run, memoryUnder }: Step, signal: AbortSignal): RunContext => ({
  ...run,
  signal,
  ...(memoryUnder && { memory: memoryUnder(signal) }),
});

/** A misuse that was found where the name of the node is not known. */
const named = (node: string, { code, message, cause }: RunFailure): RunFailure =>
  new RunFailure(code, `node "${node}": ${message}`, { node, cause });

async function runOnce(step: Step, name: string, node: AnyNode, takeStep: TakeStep): Promise<NodeResult> {
  if (typeof node === 'function') return runFunction(step, name, node);
  return 'nodes' in node ? runSubgraph(step, name, node, takeStep) : runTools(step, name, node);
}

async function runFunction(step: Step, name: string, node: NodeFunction<Record<string, never>>): Promise<NodeResult> {
  const turn = answersFor({ node: name }, step.carry, step.answers);
  if ('waits' in turn) return waiting(name, [turn.waits]);
  const idempotencyKey = keyOf(step, name);
  const asker = createAsker(idempotencyKey, name, turn.answers);
  const toBlock = (block: Block): Block => markRemote(block, step.isRemote);
  const draft = draftMessage(toBlock);
  const { signal } = step.run;
  let over = false;
  const context: NodeContext = {
    ...step.run,
    node: name,
    step: step.number,
    idempotencyKey,
    interrupt: asker.interrupt,
    emit: (piece) => {
      // Work that a node left behind must not add to a message that is finished, nor to one that is given up.
      if (over || signal.aborted || piece === '') return;
      step.onPiece(name, draft.add(piece));
    },
  };
  let update: unknown;
  try {
    // A node reads a copy of the context: `slice` of a frozen list takes fifty times as long. What it does to the copy is refused.
    const own = [...step.state.context];
    const state = Object.freeze({ ...step.state.values, context: own });
    update = await askingAs(asker, () => node(state as never, context));
    refuseChanged(name, own, step.state.context);
  } catch (error) {
    if (!asker.asked()) throw error;
  } finally {
    over = true;
  }
  const open = asker.asked();
  if (open) return waiting(name, [{ node: name, answers: turn.answers, open }]);
  return toResult(name, update ?? {}, draft.finish(), toBlock);
}

/** A change to the context would be lost without a word: what a node adds or removes stands in what it returns. */
function refuseChanged(node: string, own: readonly Message[], context: readonly Message[]): void {
  if (own.length === context.length && own.every((message, index) => message === context[index])) return;
  throw new RunFailure(
    'NodeFailed',
    `node "${node}" changed state.context: state and context are frozen, return messages or removed_from_context`,
    { node },
  );
}

function toResult(
  node: string,
  update: object,
  emitted: Message | undefined,
  toBlock: (block: Block) => Block,
): NodeResult {
  if (typeof update !== 'object' || Array.isArray(update))
    throw new RunFailure('NodeFailed', `node "${node}" returned no object of fields`, { node });
  const {
    messages = [],
    removed_from_context: removed,
    ...fields
  } = update as { messages?: readonly NewMessage[] } & Record<string, unknown>;
  const whole = toMessages(messages, toBlock);
  const mayReplace = messages.some((message) => message.message_id !== undefined);
  return {
    outputs: [{ node, fields, messages: emitted ? [emitted, ...whole] : whole, mayReplace, removed }],
    streamed: emitted ? [emitted.message_id] : [],
    waiting: false,
  };
}

async function runTools(step: Step, name: string, { tools }: ToolNode): Promise<NodeResult> {
  const open = openCalls(step.state.context);
  // A call that was made to the caller stays the caller's, whatever tools a later request declares.
  const here = open.filter(({ type, name: tool }) => type !== 'remote_tool_call' && !step.isRemote(tool));
  const results = await Promise.all(here.map(async (call) => runCall(step, name, tools, call)));
  const messages = results.flatMap(({ message }) => message ?? []);
  const asking = results.flatMap((result) => result.asking ?? []);
  return { ...waiting(name, asking, messages), waiting: messages.length < open.length };
}

async function runCall(
  step: Step,
  node: string,
  tools: readonly Tool[],
  call: CallBlock,
): Promise<{ readonly message?: Message; readonly asking?: Asking }> {
  const turn = answersFor({ node, call: call.id }, step.carry, step.answers);
  if ('waits' in turn) return { asking: turn.waits };
  const idempotencyKey = keyOf(step, call.id);
  const asker = createAsker(idempotencyKey, node, turn.answers);
  const context: ToolContext = { ...step.run, callId: call.id, idempotencyKey, interrupt: asker.interrupt };
  const notes = step.notes && unlessAsked(step.notes, asker);
  const onError = (error: unknown): void => step.onFault?.({ node, tool: call.name, callId: call.id, error });
  const message = await askingAs(asker, () => answerCall(tools, call, { context, notes, onError }));
  const open = asker.asked();
  return open ? { asking: { node, call: call.id, answers: turn.answers, open } } : { message };
}

/** What a node comes to that asks or waits: nothing of its own, but for the calls it has answered. */
const waiting = (node: string, asking: readonly Asking[], messages: readonly Message[] = []): NodeResult => ({
  outputs: [{ node, fields: {}, messages, mayReplace: false }],
  streamed: [],
  waiting: true,
  asking,
});

const keyOf = ({ within, run, number }: Step, what: string): string =>
  `${within ?? run.runId}/${String(number)}/${what}`;

const markRemote = (block: Block, isRemote: (tool: string) => boolean): Block =>
  block.type === 'tool_call' && typeof block['name'] === 'string' && isRemote(block['name'])
    ? { ...block, type: 'remote_tool_call' }
    : block;
