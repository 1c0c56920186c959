import { underOwnSignal, unlessAborted } from './attempt.ts';
import { openInterrupts, toContinuation, type Continuation, type SubgraphPosition } from './continuation.ts';
import { arrive } from '../build/join.ts';
import { mergeOutputs } from '../state/merge.ts';
import { runNode, runUnder } from './node.ts';
import { successors } from './successors.ts';
import type { NodeResult, Step, StepWithOutputs } from './super-step.ts';

export { entryNodes } from './successors.ts';

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
  const next = new Set([...waiting, ...successors(step.graph, done, state, reached)]);
  const continuation = next.size === 0 ? undefined : continuationOf(step, results, arrivals);
  return {
    state,
    delta,
    next: [...next],
    continuation,
    streamed: new Set(results.flatMap((result) => result.streamed)),
    waiting: waiting.length > 0,
    interrupts: openInterrupts(continuation),
    outputs,
  };
}

/** A single node runs under the run's own signal, because no other node can fail beside it. */
async function runNodes(step: Step): Promise<readonly NodeResult[]> {
  const { signal } = step.run;
  const [only] = step.nodes;
  if (only !== undefined && step.nodes.length === 1)
    return [await unlessAborted(signal, async () => runNode(step, only, runStep))];
  return underOwnSignal({ signal }, async (own) => {
    const inner = { ...step, run: runUnder(step, own) };
    return Promise.all(step.nodes.map(async (name) => runNode(inner, name, runStep)));
  });
}

function continuationOf(
  step: Step,
  results: readonly NodeResult[],
  joins: NonNullable<Continuation['joins']>,
): Continuation | undefined {
  const graphs: Record<string, SubgraphPosition> = {};
  results.forEach(({ position }, index) => {
    const name = step.nodes[index];
    if (position && name !== undefined) graphs[name] = position;
  });
  return toContinuation({ joins, asking: results.flatMap(({ pending = [] }) => pending), graphs });
}
