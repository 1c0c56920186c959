import type { Message } from '@agent-workflow/protos/message';
import type { NodeContext, RunContext } from './context.ts';

/** What the code of a step reads: the fields of its graph, and the messages that the model sees. Frozen. */
export type StepState = Readonly<Record<string, unknown>> & { readonly context: readonly Message[] };

/** A question of a node, whose id the code has chosen. */
export interface StepQuestion {
  readonly id: string;
  readonly node: string;
  /** JSON. */
  readonly value: unknown;
}

/** What one node gave, as a node returns it. */
type StepUpdate = Readonly<Record<string, unknown>>;

/** What came of a step. */
export interface StepOutcome {
  /** By the nodes of the step. The fields are values, which pass no reducer. */
  readonly updates: ReadonlyMap<string, StepUpdate>;
  /** The questions without an answer. Their nodes run again with the answer; the others have returned. */
  readonly questions: readonly StepQuestion[];
}

/** What the code of a step gets beside the state. */
export interface StepContext extends RunContext, Pick<NodeContext, 'step' | 'idempotencyKey' | 'usage'> {
  /** The nodes of the step: those that a route named, or those that wait for an answer. */
  readonly nodes: readonly string[];
  /** The answers of the caller to questions of these nodes, by their ids. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** As `ctx.openMessage` and `ctx.progress` of one of the nodes. */
  readonly openMessage: (
    node: string,
    ...role: Parameters<NodeContext['openMessage']>
  ) => ReturnType<NodeContext['openMessage']>;
  readonly progress: (node: string, data: unknown) => void;
  /** Publishes what goes on in a sub-graph of a node, as JSON; absent: nobody wants it. */
  readonly inner?: ((node: string, data: unknown) => void) | undefined;
}

/**
 * Runs all nodes of a step together, in place of a function of each: for graphs of another engine, which has nodes of its own. The routes of the
 * graph say which nodes come next, by fields that this code writes. What holds for nodes holds for it: it may be called again for the same
 * step, and nothing is kept between two steps but the state.
 */
export interface StepCode {
  /** Called before the first nodes of a run are chosen. What it returns are values of fields, which the first step commits. */
  readonly begin: (state: StepState, context: RunContext) => Promise<Readonly<Record<string, unknown>>>;
  readonly run: (state: StepState, context: StepContext) => Promise<StepOutcome>;
}
