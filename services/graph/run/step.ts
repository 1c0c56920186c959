import { continuationAfter } from './after-step.ts';
import { earliest, resultAsleep } from './asleep.ts';
import { underOwnSignal, unlessAborted } from './attempt.ts';
import { runBranches } from './branches.ts';
import { openInterrupts, type HeldNode, type NodeResult } from './continuation.ts';
import { arrive } from '../build/join.ts';
import { mergeOutputs, type NodeOutput } from '../state/merge.ts';
import type { EngineState } from '../state/state.ts';
import { aheadOf, hold, seenBy } from './held.ts';
import { endSpan, runNode, runUnder } from './node.ts';
import { successors } from './successors.ts';
import { runTogether } from './together.ts';
import type { Step, StepWithOutputs } from './super-step.ts';

export { enterGraph } from './successors.ts';

/**
 * Runs the nodes of a step concurrently and merges what they return.
 * @throws RunFailure naming the node; the signals of the step's other nodes fire, and their results are dropped.
 */
export async function runStep(step: Step): Promise<StepWithOutputs> {
  const results = await runNodes(step);
  const { nodes } = step;
  const { outputs, held } = joinOutputs(step, results);
  const streamedBefore = held.length === 0 ? publishHeld(step, results, outputs) : [];
  const { state, delta } = mergeOutputs(step.graph.fields, step.state, outputs);
  const waiting = nodes.filter((_, index) => results[index]?.waiting);
  const { next, joins, inputs } = waiting.length > 0 ? { ...stay(step), next: waiting } : leave(step, state);
  const continuation = next.length === 0 ? undefined : continuationAfter({ nodes, results, joins, inputs, held });
  const wakeTimes = results.flatMap(({ waiting: isOpen, wakeAt }) => (isOpen ? [wakeAt] : []));
  const wakeAt = earliest(wakeTimes);
  return {
    state,
    delta,
    next,
    continuation,
    streamed: new Set([...results.flatMap((result) => result.streamed), ...streamedBefore]),
    waiting: wakeTimes.includes(undefined),
    ...(wakeAt === undefined ? {} : { wakeAt }),
    interrupts: openInterrupts(continuation),
    openCalls: results.flatMap((result) => result.openCalls ?? []),
    outputs,
  };
}

const nothingHeld: readonly HeldNode[] = [];

/**
 * What is merged after this step, and what is held: where a node waits or sleeps beside others, what they gave is merged when the last of
 * them returns, in the order of the nodes. A node that is alone in its step holds nothing up.
 */
function joinOutputs(
  { graph, nodes, continuation }: Step,
  results: readonly NodeResult[],
): { readonly outputs: readonly NodeOutput[]; readonly held: readonly HeldNode[] } {
  const before = continuation?.held ?? nothingHeld;
  const isAlone = before.length === 0 && (nodes.length === 1 || !results.some(({ waiting }) => waiting));
  // What runs nodes together keeps by itself what those gave that wait for none.
  if (graph.steps) return { outputs: results.flatMap((result) => result.outputs), held: nothingHeld };
  if (isAlone) return { outputs: results.flatMap((result) => result.outputs), held: nothingHeld };
  const resultOf = new Map(nodes.map((name, index) => [name, results[index]]));
  const heldOf = new Map(before.map((one) => [one.node, one]));
  const all = inOrderOf(graph, [...heldOf.keys(), ...nodes]);
  if (!results.some(({ waiting }) => waiting))
    return {
      outputs: all.flatMap((name) => [...(heldOf.get(name)?.outputs ?? []), ...(resultOf.get(name)?.outputs ?? [])]),
      held: nothingHeld,
    };
  const outputs: NodeOutput[] = [];
  const held = all.flatMap((node) => {
    const result = resultOf.get(node);
    if (!result) return heldOf.get(node) ?? [];
    const kept = hold(heldOf.get(node), result, node);
    outputs.push(...kept.now);
    return { node, ...kept.held };
  });
  return { outputs, held };
}

const nothing: readonly string[] = [];

/** In a sub-graph, what nodes of its next steps read is published before what they say. Returns the ids of those messages. */
function publishHeld(
  { within, continuation, onHeld }: Step,
  results: readonly NodeResult[],
  outputs: readonly NodeOutput[],
): readonly string[] {
  if (within === undefined) return nothing;
  const before = (continuation?.held ?? nothingHeld).map(({ streamed }) => streamed);
  const ids = [...before, ...results.map(({ streamedBefore }) => streamedBefore)].flatMap((one) => one ?? nothing);
  if (ids.length === 0) return nothing;
  const known = new Set(ids);
  for (const { node, messages } of outputs)
    // A later message with the same id takes its place after the commit.
    for (const message of messages) if (known.delete(message.message_id)) onHeld?.(node, message);
  return ids;
}

/** The names in the order of the graph, each once; at the end those that a new release has taken away. */
const inOrderOf = ({ nodes }: Step['graph'], names: readonly string[]): readonly string[] => {
  const known = new Set(names);
  return [...new Set([...[...nodes.keys()].filter((name) => known.has(name)), ...names])];
};

type After = Pick<StepWithOutputs, 'next'> & Pick<Parameters<typeof continuationAfter>[0], 'joins' | 'inputs'>;

const stay = ({ continuation }: Step): Omit<After, 'next'> => ({ joins: continuation?.joins, inputs: undefined });

/** What follows a step whose nodes have all returned. */
function leave({ graph, nodes, continuation }: Step, state: EngineState): After {
  const { held = nothingHeld } = continuation ?? {};
  const done = held.length === 0 ? nodes : inOrderOf(graph, [...held.map(({ node }) => node), ...nodes]);
  const { reached, arrivals } = arrive(graph.joins, continuation?.joins ?? {}, done);
  const { nodes: next, inputs } = successors(graph, done, state, reached);
  return { next, joins: arrivals, inputs };
}

/** A single node runs under the run's own signal, because no other node can fail beside it. */
async function runNodes(step: Step): Promise<readonly NodeResult[]> {
  const { signal } = step.run;
  if (step.graph.steps) return runTogether(step, step.graph.steps);
  const [only] = step.nodes;
  if (only !== undefined && step.nodes.length === 1)
    return [await unlessAborted(signal, () => runNodeOrBranches(step, only))];
  return underOwnSignal({ signal }, async (own) => {
    const inner = { ...step, run: runUnder(step, own), streamsReturned: true };
    return Promise.all(step.nodes.map(async (name) => runBeside(inner, name)));
  });
}

/** Runs a node beside others, unless it has returned before. */
async function runBeside(step: Step, name: string): Promise<NodeResult> {
  const { returned, onReturned } = step;
  const left = returned && Object.hasOwn(returned, name) ? returned[name] : undefined;
  const known = left?.waiting === false ? left : undefined;
  if (known) endSpan(step.span?.begin('node', { name, replayed: true }), known);
  const result = known ?? (await runNodeOrBranches(step, name));
  if (!result.waiting) onReturned?.(name, result);
  return result;
}

async function runNodeOrBranches(given: Step, name: string): Promise<NodeResult> {
  const asleep = resultAsleep(given, name);
  if (asleep) return asleep;
  const step = asSeenBy(given, name);
  const { branches: all = {} } = step.continuation ?? {};
  const branches = Object.hasOwn(all, name) ? all[name] : undefined;
  return branches ? runBranches(step, name, branches, runStep) : runNode(step, name, runStep);
}

/** In a step that goes on a node sees less than is on record. */
function asSeenBy(step: Step, name: string): Step {
  const { held } = step.continuation ?? {};
  if (!held) return step;
  const own = held.find(({ node }) => node === name);
  return { ...step, state: seenBy(step.graph.fields, step.state, aheadOf(held), own) };
}
