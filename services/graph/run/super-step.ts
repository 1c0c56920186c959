import type { Answerer } from '@agent-workflow/protos/answerer';
import type { CallBlock, Message } from '@agent-workflow/protos/message';
import type { ModelUsage } from '@agent-workflow/protos/usage';
import type { RunContext } from '../build/context.ts';
import type { CompiledGraph } from '../build/graph.ts';
import type { CodeFault } from '../state/failure.ts';
import type { Delta, NodeOutput } from '../state/merge.ts';
import type { MessageChunk } from '../state/message.ts';
import type { EngineState } from '../state/state.ts';
import type { BranchRecords } from './branch-records.ts';
import type { Branch, Continuation, NodeResult } from './continuation.ts';
import type { Interrupt } from './interrupt.ts';
import type { LateCall } from './late-call.ts';
import type { ToolCallRecords } from './tool-call-records.ts';
import type { Span } from '../trace/step-trace.ts';

/** One super-step: nodes that run concurrently on the same state. */
export interface Step {
  readonly graph: CompiledGraph;
  readonly nodes: readonly string[];
  readonly number: number;
  readonly state: EngineState;
  readonly run: RunContext;
  /** When the step begins, in milliseconds since 1970: sleeps that end then or before have ended. */
  readonly at: number;
  /** The clock by which sleeps begin, in milliseconds since 1970. */
  readonly now: () => number;
  /** When the timeouts of its nodes begin to count; absent: as each of their attempts begins. */
  readonly countsFrom?: (() => Promise<void>) | undefined;
  /**
   * Gives the services whose calls end with this signal; absent: they end with the run's signal. `key` is the same for a node or a call that begins
   * again.
   */
  readonly servicesUnder?: ((signal: AbortSignal, key?: string) => Pick<RunContext, 'memory' | 'files'>) | undefined;
  /** The continuation that the step before returned. */
  readonly continuation?: Continuation | undefined;
  /** Answers to open interrupts, by their ids. Other ids are ignored. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /** Who gave the answers. Absent for defaults. */
  readonly answeredBy?: readonly Answerer[] | undefined;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  /** Called with every chunk that is published before the commit. */
  readonly onChunk: (node: string, chunk: MessageChunk) => void;
  /**
   * Called with a message of a node that an earlier step held, where nodes that run before the commit read it. Its chunks were published in
   * that step, which may have been another run's.
   */
  readonly onHeld?: ((node: string, message: Message) => void) | undefined;
  /** Whether the chunks of what nodes return are published at once: in a sub-graph, and beside others, more may be published before the commit. */
  readonly streamsReturned?: boolean;
  /**
   * Called when a node emits, or it or one of its tools publishes progress, after it has returned: that is dropped. What it throws reaches
   * the code that published. Not called where the node or the tool failed, asks, sleeps or was stopped.
   */
  readonly onLate?: ((late: LateCall) => void) | undefined;
  /** Called with what a node or one of its tools publishes beside messages; `branch` as below. */
  readonly onProgress?: ((node: string, data: unknown, branch?: number) => void) | undefined;
  /** Called with what goes on in a sub-graph of a node, by the code that runs nodes together; absent: nobody wants it. */
  readonly onInner?: ((node: string, data: unknown) => void) | undefined;
  /**
   * Called with the tokens that a node or one of its tools reports, those of attempts that fail later included. The tokens of a branch or
   * a tool call whose result is on record are given again. What it throws reaches the code that reported.
   */
  readonly onUsage?: ((usage: ModelUsage) => void) | undefined;
  /**
   * Called when a failed node begins again; what the failed attempt emitted is dropped. `attempt` is 2 for the second attempt.
   * A node of a sub-graph is reported under the name of the node that holds the sub-graph; `branch` is the index of a branch.
   */
  readonly onRestart?: ((node: string, attempt: number, branch?: number) => void) | undefined;
  /** Called with how long a call of a tool kept the event loop before it gave its result or its promise, in milliseconds. */
  readonly onToolTurn?: ((tool: string, ms: number) => void) | undefined;
  /** Called with an error of the agent's code that does not fail the step, so that it can be logged. */
  readonly onFault?: ((fault: CodeFault) => void) | undefined;
  /** What the step is traced by, or in a branch, a sub-graph or an attempt the part of that; absent: nothing is. */
  readonly span?: Span | undefined;
  /** Records of tool calls that may be made at most once; without them such calls may be made again like any other. */
  readonly toolCallRecords?: ToolCallRecords | undefined;
  /** Records of the results of branches; without them a step that runs again runs all of them again. */
  readonly branchRecords?: BranchRecords | undefined;
  /** In one branch of a fan-out: its index. */
  readonly branch?: number | undefined;
  /** The input of the branch, also in the sub-graph that it runs. */
  readonly input?: unknown;
  /** In a sub-graph: the position of its step in the run. Keys and ids begin with it in place of the run's id. */
  readonly within?: string;
  /** Of a run that tries another again: the run whose keys its steps have, and the number that its step 0 has among those. */
  readonly keys?: { readonly run: string; readonly from: number } | undefined;
  /** What nodes have returned that do not run again; of a sub-graph in which a node failed, which is `waiting`, what it had come to. */
  readonly returned?: Readonly<Record<string, NodeResult>> | undefined;
  /** Called with the result of a node that has returned beside others, and with what a sub-graph has come to after each of its steps. */
  readonly onReturned?: ((node: string, result: NodeResult) => void) | undefined;
  /** Called where a branch has failed, with all branches of its node: those that had returned are held. */
  readonly onBranchesLeft?: ((node: string, branches: readonly Branch[]) => void) | undefined;
}

export interface StepResult {
  readonly state: EngineState;
  readonly delta: Delta;
  /** The nodes of the next step; none when the graph has ended. */
  readonly next: readonly string[];
  /** Is stored with the commit and given to the next step. */
  readonly continuation: Continuation | undefined;
  /** Messages that were streamed as they were made. */
  readonly streamed: ReadonlySet<string>;
  /** Whether a node waits for the caller: then the run is interrupted, and the next run continues with `next`. */
  readonly waiting: boolean;
  /** Set when all of `next` sleep: the time at which the first of them continues, in milliseconds since 1970. */
  readonly wakeAt?: number;
  /** The open questions; empty when it waits for remote tools alone. */
  readonly interrupts: readonly Interrupt[];
  /** The tool calls for whose answers nodes wait, in whichever messages they stand. */
  readonly openCalls: readonly CallBlock[];
}

/** The result of a step with the output of each of its nodes, which the node that holds a sub-graph needs. */
export type StepWithOutputs = StepResult & { readonly outputs: readonly NodeOutput[] };
export type RunStep = (step: Step) => Promise<StepWithOutputs>;
