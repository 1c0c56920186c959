export { fakeModel, type FakeModel, type ScriptedAnswer } from './model/fake-model.ts';
import { newId } from '@agent-workflow/kit/ids';
import type { Message } from '@agent-workflow/protos/message';
import type { Continuation } from './run/continuation.ts';
import type { RunContext } from './build/context.ts';
import type { CompiledGraph } from './build/graph.ts';
import type { Interrupt } from './run/interrupt.ts';
import { defaultValues } from './state/merge.ts';
import { deepFreeze, type EngineState } from './state/state.ts';
import { enterGraph, runStep } from './run/step.ts';
import type { Step } from './run/super-step.ts';

/** The result of a walk, from which another walk can continue. */
export interface Walked {
  readonly state: EngineState;
  /** The nodes of each step. */
  readonly steps: readonly (readonly string[])[];
  readonly next: readonly string[];
  readonly continuation: Continuation | undefined;
  readonly waiting: boolean;
  readonly interrupts: readonly Interrupt[];
}

export interface WalkOptions extends Partial<
  Pick<Step, 'answers' | 'branchRecords' | 'isRemote' | 'onChunk' | 'onFault' | 'onProgress' | 'onRestart'>
> {
  /**
   * The result of an earlier walk of the same thread. Where that one waits, or stopped at `maxSteps`, this one continues there; where
   * it ended, this one is the next turn and begins at START. Absent: a new thread.
   */
  readonly from?: Walked;
  /** Messages that are in the context before the first step. */
  readonly context?: readonly Message[];
  readonly run?: Partial<RunContext>;
  /** The walk ends after this number of steps: 100 unless given. */
  readonly maxSteps?: number;
}

/**
 * Runs a graph step by step until it ends or waits for its caller, for tests of graphs: no thread, worker or store is needed. The
 * continuation is turned into JSON and back between two steps, as the service does it.
 */
export async function walk(graph: CompiledGraph, options: WalkOptions = {}): Promise<Walked> {
  const { from, context = [], maxSteps = 100, ...hooks } = options;
  const begun = from?.state ?? { values: defaultValues(graph.fields), context: [] };
  const state = deepFreeze({ ...begun, context: [...begun.context, ...context] });
  const isOpen = from !== undefined && from.next.length > 0;
  const entry = isOpen ? { nodes: from.next, continuation: from.continuation } : enterGraph(graph, state);
  let walked: Walked = {
    state,
    steps: [],
    next: entry.nodes,
    continuation: entry.continuation,
    waiting: false,
    interrupts: [],
  };
  while (walked.next.length > 0 && !walked.waiting && walked.steps.length < maxSteps) {
    const { next: nodes, steps } = walked;
    const place = {
      graph,
      nodes,
      number: steps.length + 1,
      state: walked.state,
      continuation: throughJson(walked.continuation),
    };
    const run = { ...nobody, tools: graph.tools, ...options.run };
    const result = await runStep({ ...quietFor(graph), ...hooks, ...place, run });
    walked = { ...result, steps: [...steps, nodes] };
  }
  return walked;
}

const throughJson = (continuation: Continuation | undefined): Continuation | undefined =>
  continuation && (JSON.parse(JSON.stringify(continuation)) as Continuation);

/** Of the tools, those are remote that the graph declares as remote. */
const quietFor = ({ tools }: CompiledGraph): Pick<Step, 'isRemote' | 'onChunk'> => ({
  isRemote: (name) => tools.some((tool) => tool.name === name && tool.run === undefined),
  onChunk: () => undefined,
});

/** A message of a user, with an id of its own. */
export const user = (text: string): Message => ({
  message_id: newId(),
  role: 'user',
  content: [{ type: 'text', text }],
  timestamp: new Date().toISOString(),
});

/** The context of a run without user, config and memories. */
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
