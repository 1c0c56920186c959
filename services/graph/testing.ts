import type { Message } from '@agent-workflow/protos/message';
import type { Carry } from './run/carry.ts';
import type { RunContext } from './build/context.ts';
import type { CompiledGraph } from './build/graph.ts';
import type { Interrupt } from './run/interrupt.ts';
import { defaultValues } from './state/merge.ts';
import { deepFreeze, type EngineState } from './state/state.ts';
import { entryNodes, runStep } from './run/step.ts';
import type { Step } from './run/super-step.ts';

/** Where a walk through a graph has come to. */
export interface Walked {
  readonly state: EngineState;
  /** The nodes of each step. */
  readonly steps: readonly (readonly string[])[];
  readonly next: readonly string[];
  readonly carry: Carry | undefined;
  readonly waiting: boolean;
  readonly interrupts: readonly Interrupt[];
}

export interface WalkOptions extends Partial<Pick<Step, 'answers' | 'isRemote' | 'onPiece' | 'onRestart'>> {
  /** Goes on from there; absent: from the start. */
  readonly from?: Walked;
  /** Messages that are in the context before the first step. */
  readonly context?: readonly Message[];
  readonly run?: Partial<RunContext>;
  /** Ends the walk after so many steps: 100 unless told. */
  readonly maxSteps?: number;
}

/**
 * Takes a graph from step to step until it ends or waits, without thread, worker or store: for tests of graphs. What is
 * carried between steps goes through JSON each time, as it would on its way through the record.
 */
export async function walk(graph: CompiledGraph, options: WalkOptions = {}): Promise<Walked> {
  const { from, context = [], maxSteps = 100, ...hooks } = options;
  const begun = from?.state ?? { values: defaultValues(graph.fields), context: [] };
  const state = deepFreeze({ ...begun, context: [...begun.context, ...context] });
  let walked: Walked = {
    state,
    steps: [],
    next: from?.next ?? entryNodes(graph, state),
    carry: from?.carry,
    waiting: false,
    interrupts: [],
  };
  while (walked.next.length > 0 && !walked.waiting && walked.steps.length < maxSteps) {
    const { next: nodes, steps } = walked;
    const place = { graph, nodes, number: steps.length + 1, state: walked.state, carry: throughJson(walked.carry) };
    const result = await runStep({ ...quiet, ...hooks, ...place, run: { ...nobody, ...options.run } });
    walked = { ...result, steps: [...steps, nodes] };
  }
  return walked;
}

const throughJson = (carry: Carry | undefined): Carry | undefined =>
  carry && (JSON.parse(JSON.stringify(carry)) as Carry);

const quiet = { isRemote: () => false, onPiece: () => undefined };

/** The context of a run that belongs to nobody and reaches nothing. */
export const nobody: RunContext = {
  runId: 'run',
  threadId: 'thread',
  signal: new AbortController().signal,
  config: {},
  user: {},
  memory: {
    store: () => Promise.reject(new Error('a walk has no memory')),
    search: () => Promise.resolve([]),
    delete: () => Promise.resolve(),
  },
  tools: [],
};
