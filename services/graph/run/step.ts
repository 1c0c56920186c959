import { fenced, unlessAborted } from './attempt.ts';
import { openInterrupts, toCarry, type Carry, type GraphPlace } from './carry.ts';
import { arrive } from '../build/join.ts';
import { mergeOutputs } from '../state/merge.ts';
import { runNode, runUnder } from './node.ts';
import { successors, successorsOfStart } from './successors.ts';
import type { NodeResult, Step, StepResult, TakenStep } from './super-step.ts';

/** The nodes that a run begins with. */
export const entryNodes = successorsOfStart;

/**
 * Runs the nodes of a step side by side and merges what they give.
 * @throws RunFailure naming the node; the signals of the step's other nodes fire, and their results are dropped.
 */
export const runStep: (step: Step) => Promise<StepResult> = takeStep;

async function takeStep(step: Step): Promise<TakenStep> {
  const results = await runNodes(step);
  const outputs = results.flatMap((result) => result.outputs);
  const { state, delta } = mergeOutputs(step.graph.fields, step.state, outputs);
  const waiting = step.nodes.filter((_, index) => results[index]?.waiting);
  const done = step.nodes.filter((_, index) => !results[index]?.waiting);
  const { reached, arrivals } = arrive(step.graph.joins, step.carry?.joins ?? {}, done);
  const next = new Set([...waiting, ...successors(step.graph, done, state, reached)]);
  const carry = next.size === 0 ? undefined : carryOf(step, results, arrivals);
  return {
    state,
    delta,
    next: [...next],
    carry,
    streamed: new Set(results.flatMap((result) => result.streamed)),
    waiting: waiting.length > 0,
    interrupts: openInterrupts(carry),
    outputs,
  };
}

/** A node alone needs no fence: nobody fails beside it. */
async function runNodes(step: Step): Promise<readonly NodeResult[]> {
  const { signal } = step.run;
  const [only] = step.nodes;
  if (only !== undefined && step.nodes.length === 1)
    return [await unlessAborted(signal, async () => runNode(step, only, takeStep))];
  return fenced({ signal }, async (own) => {
    const heard = { ...step, run: runUnder(step, own) };
    return Promise.all(step.nodes.map(async (name) => runNode(heard, name, takeStep)));
  });
}

function carryOf(step: Step, results: readonly NodeResult[], joins: NonNullable<Carry['joins']>): Carry | undefined {
  const graphs: Record<string, GraphPlace> = {};
  results.forEach(({ place }, index) => {
    const name = step.nodes[index];
    if (place && name !== undefined) graphs[name] = place;
  });
  return toCarry({ joins, asking: results.flatMap(({ asking = [] }) => asking), graphs });
}
