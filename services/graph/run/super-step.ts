import type { BoundMemory, RunContext } from '../build/context.ts';
import type { CompiledGraph } from '../build/graph.ts';
import type { CodeFault } from '../state/failure.ts';
import type { Delta, NodeOutput } from '../state/merge.ts';
import type { Piece } from '../state/message.ts';
import type { EngineState } from '../state/state.ts';
import type { Asking, Carry, GraphPlace } from './carry.ts';
import type { Interrupt } from './interrupt.ts';
import type { CallNotes } from './once.ts';

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

/** What running one node came to. */
export interface NodeResult {
  /** One, or for a sub-graph one for each node that ran in it. */
  readonly outputs: readonly NodeOutput[];
  /** Ids of messages that were streamed as they were made. */
  readonly streamed: readonly string[];
  /** Whether the run goes on at this node, when its caller has answered. */
  readonly waiting: boolean;
  readonly asking?: readonly Asking[];
  /** Where a sub-graph stands that waits. */
  readonly place?: GraphPlace;
}
