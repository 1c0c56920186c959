import type { RunContext } from '../build/context.ts';
import type { CompiledGraph } from '../build/graph.ts';
import type { StepState } from '../build/step-code.ts';
import { failureOfCode, isRunFailure } from '../state/failure.ts';
import { mergeOutputs, type Delta } from '../state/merge.ts';
import type { EngineState } from '../state/state.ts';
import { unlessAborted } from './attempt.ts';

/** What the code of a graph's steps does before the first nodes of a run are chosen; `undefined` for a graph without such code. */
export async function beginTogether(
  { fields, steps }: CompiledGraph,
  state: EngineState,
  run: RunContext,
): Promise<{ readonly state: EngineState; readonly delta: Delta } | undefined> {
  if (!steps) return undefined;
  try {
    const values = await unlessAborted(run.signal, async () => steps.begin(seenByCode(state), run));
    return mergeOutputs(fields, state, [
      { node: 'begin', fields: values, messages: [], mayReplace: false, areResults: true },
    ]);
  } catch (error) {
    if (run.signal.aborted || isRunFailure(error)) throw error;
    throw failureOfCode('GraphFailed', 'the begin of the graph', error);
  }
}

/** The state as the code of steps reads it. */
export const seenByCode = ({ values, context }: EngineState): StepState => Object.freeze({ ...values, context });
