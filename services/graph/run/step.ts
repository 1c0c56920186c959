import { continuationAfter } from './after-step.ts';
import { earliest, resultAsleep } from './asleep.ts';
import { underOwnSignal, unlessAborted } from './attempt.ts';
import { runBranches } from './branches.ts';
import { openInterrupts } from './continuation.ts';
import { arrive } from '../build/join.ts';
import { RunFailure } from '../state/failure.ts';
import { mergeOutputs } from '../state/merge.ts';
import { runNode, runUnder } from './node.ts';
import { successors } from './successors.ts';
import type { NodeResult, Step, StepWithOutputs } from './super-step.ts';

export { enterGraph } from './successors.ts';

/**
 * Runs the nodes of a step concurrently and merges what they return.
 * @throws RunFailure naming the node; the signals of the step's other nodes fire, and their results are dropped.
 */
export async function runStep(step: Step): Promise<StepWithOutputs> {
  const results = await runNodes(step);
  const outputs = results.flatMap((result) => result.outputs);
  const { state, delta } = mergeOutputs(step.graph.fields, step.state, outputs);
  const waiting = step.nodes.filter((_, index) => results[index]?.waiting);
  const done = step.nodes.filter((_, index) => !results[index]?.waiting);
  const { reached, arrivals } = arrive(step.graph.joins, step.continuation?.joins ?? {}, done);
  const { nodes: led, inputs } = successors(step.graph, done, state, reached);
  const next = new Set([...waiting, ...led]);
  refuseWaiting(step, results, inputs);
  const { nodes } = step;
  const continuation = next.size === 0 ? undefined : continuationAfter({ nodes, results, joins: arrivals, inputs });
  const wakeTimes = results.flatMap(({ waiting: isOpen, wakeAt }) => (isOpen ? [wakeAt] : []));
  const wakeAt = led.length === 0 ? earliest(wakeTimes) : undefined;
  return {
    state,
    delta,
    next: [...next],
    continuation,
    streamed: new Set(results.flatMap((result) => result.streamed)),
    waiting: wakeTimes.includes(undefined),
    ...(wakeAt === undefined ? {} : { wakeAt }),
    interrupts: openInterrupts(continuation),
    openCalls: results.flatMap((result) => result.openCalls ?? []),
    outputs,
  };
}

/** A single node runs under the run's own signal, because no other node can fail beside it. */
async function runNodes(step: Step): Promise<readonly NodeResult[]> {
  const { signal } = step.run;
  const [only] = step.nodes;
  if (only !== undefined && step.nodes.length === 1)
    return [await unlessAborted(signal, async () => runNodeOrBranches(step, only))];
  return underOwnSignal({ signal }, async (own) => {
    const inner = { ...step, run: runUnder(step, own), streamsReturned: true };
    return Promise.all(step.nodes.map(async (name) => runNodeOrBranches(inner, name)));
  });
}

async function runNodeOrBranches(step: Step, name: string): Promise<NodeResult> {
  const asleep = resultAsleep(step, name);
  if (asleep) return asleep;
  const { branches: all = {} } = step.continuation ?? {};
  const branches = Object.hasOwn(all, name) ? all[name] : undefined;
  return branches ? runBranches(step, name, branches, runStep) : runNode(step, name, runStep);
}

/** A node that waits for the caller without branches runs again as it was; it cannot also begin branches. */
function refuseWaiting(step: Step, results: readonly NodeResult[], inputs: ReadonlyMap<string, unknown>): void {
  if (inputs.size === 0) return;
  const mistaken = step.nodes.find((name, index) => {
    const result = results[index];
    return inputs.has(name) && result?.waiting && !result.branches;
  });
  if (mistaken === undefined) return;
  const why = `node "${mistaken}" waits for the caller, and a route sends to it in the same step`;
  throw new RunFailure('GraphFailed', why, { node: mistaken });
}
