import { fenced, unlessAborted } from './attempt.ts';
import { openInterrupts, toCarry, type Carry, type GraphPlace } from './carry.ts';
import type { BoundMemory, RunContext } from './context.ts';
import type { CodeFault } from './failure.ts';
import type { CompiledGraph } from './graph.ts';
import type { Interrupt } from './interrupt.ts';
import { arrive } from './join.ts';
import { mergeOutputs, type Delta, type NodeOutput } from './merge.ts';
import type { Piece } from './message.ts';
import { runNode, runUnder, type NodeResult } from './node.ts';
import type { CallNotes } from './once.ts';
import type { EngineState } from './state.ts';
import { successors, successorsOfStart } from './successors.ts';

/** One super-step: the nodes that run side by side on one state. */
export interface Step {
  readonly graph: CompiledGraph;
  readonly nodes: readonly string[];
  readonly number: number;
  readonly state: EngineState;
  readonly run: RunContext;
  /** The memory service under a signal of its own; absent, calls of it end with the run's. */
  readonly memoryUnder?: ((signal: AbortSignal) => BoundMemory) | undefined;
  /** What the step before gave to carry. */
  readonly carry?: Carry | undefined;
  /** Answers to open interrupts, by their ids; what names no open one is passed over. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  /** Hears every piece as it is emitted. */
  readonly onPiece: (node: string, piece: Piece) => void;
  /**
   * Hears that a node begins again because it failed: what it emitted before will not be kept. `attempt` is 2 for the
   * second. For a node of a sub-graph the one that holds the sub-graph is told.
   */
  readonly onRestart?: ((node: string, attempt: number) => void) | undefined;
  /** Called with what code of the agent threw where that does not fail the step: for the log. */
  readonly onFault?: ((fault: CodeFault) => void) | undefined;
  /** Where calls are noted that may be made only once; absent, and they may be made again like any other. */
  readonly notes?: CallNotes | undefined;
  /** The place of a sub-graph's step in the run, in place of the run's id in keys and ids. */
  readonly within?: string;
}

export interface StepResult {
  readonly state: EngineState;
  readonly delta: Delta;
  /** The nodes of the next step; none when the graph has ended. */
  readonly next: readonly string[];
  /** To be kept with the commit and given to the next step. */
  readonly carry: Carry | undefined;
  /** Messages that were streamed as they were made. */
  readonly streamed: ReadonlySet<string>;
  /** Whether a node waits for the caller: the run is interrupted and goes on with `next`. */
  readonly waiting: boolean;
  /** The questions among what it waits for. */
  readonly interrupts: readonly Interrupt[];
}

/** A step with what each of its nodes gave. */
export type TakenStep = StepResult & { readonly outputs: readonly NodeOutput[] };
export type TakeStep = (step: Step) => Promise<TakenStep>;

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
