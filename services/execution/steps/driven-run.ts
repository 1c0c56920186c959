import type { Replicas } from '@agent-workflow/protos/call';
import type { RunContext } from '@agent-workflow/graph/build/context';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { LateCall } from '@agent-workflow/graph/run/late-call';
import type { CodeFault } from '@agent-workflow/graph/state/failure';
import type { Answerer } from '@agent-workflow/protos/answerer';
import type { ClaimedRun, RunCalls, RunReadCalls, StateCalls, ToolRecordCalls } from '@agent-workflow/protos/threads';
import type { Usage } from '@agent-workflow/protos/usage';
import { isAsleep, wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import type { Continuation } from '@agent-workflow/graph/run/continuation';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { EngineState } from '@agent-workflow/graph/state/state';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { RunOptions } from '../record/run-options.ts';
import type { ThreadState } from '../record/thread-state.ts';
import type { AppendOptions, RunLog } from '../ports/log.ts';
import type { Added, Returned } from '../record/progress.ts';
import type { StateSize } from '../record/thread-state.ts';
import type { EventWriter } from '../events/event-writer.ts';
import type { PromptTools } from './prompt-tools.ts';
import type { RunUsage } from './run-usage.ts';
import type { RunTrace } from './run-trace.ts';

/** What one claimed run is driven with. */
export interface DriveOptions {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly runOptions: RunOptions;
  readonly graph: CompiledGraph;
  readonly threads: RunCalls & RunReadCalls & StateCalls & ToolRecordCalls;
  /** The thread state that the claim was made with. */
  readonly cached: ThreadState | undefined;
  /** The replicas that it was made with: they know the thread. */
  readonly replicas: Replicas;
  readonly runContext: RunContext;
  /**
   * The services that nodes call, whose calls end with this signal. `key` is the same for a node or a call that begins again. With `opened` they are made
   * when that resolves.
   */
  readonly servicesUnder: (
    signal: AbortSignal,
    key?: string,
    opened?: () => Promise<void>,
  ) => Pick<RunContext, 'memory' | 'files'>;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  readonly eventLog: RunLog;
  /** The clock by which the run sleeps, and by which its commits and events are dated, in milliseconds since 1970. */
  readonly now: () => number;
  readonly usage: RunUsage;
  readonly trace: RunTrace;
  readonly promptTools: PromptTools;
  /** Called with the tokens by model that a commit has put on record. */
  readonly onUsage?: ((added: Usage) => void) | undefined;
  /** Called with what the agent's code threw where the run continues nevertheless. */
  readonly onFault?: ((fault: CodeFault) => void) | undefined;
  /** Called when a node or a tool publishes after it has ended, which is dropped. */
  readonly onLate?: ((late: LateCall) => void) | undefined;
  /** Called when a node reports something. */
  readonly onReport: () => void;
  /** Called with the nodes of each step as it begins. */
  readonly onStep: (nodes: readonly string[]) => void;
  /** Called when the record is unavailable for a commit, which then waits. */
  readonly onAway: (error: unknown) => void;
}

/** The state of a run between two steps: what the next step begins with. */
export interface RunState {
  readonly state: EngineState;
  readonly size: StateSize;
  /** The nodes of the next step, and its number. */
  readonly nodes: readonly string[];
  readonly step: number;
  /** Changes that came with the input and belong to the first commit. */
  readonly pending: Delta;
  readonly added: Added;
  /** How many times each node has run in this run. */
  readonly visits: ReadonlyMap<string, number>;
  readonly continuation: Continuation | undefined;
  /** When the next step begins, in milliseconds since 1970: sleeps that end then or before have ended. */
  readonly at: number;
  /** Answers to the questions of the interrupted run before this one: for the first step. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  /** Who gave them. */
  readonly answeredBy?: readonly Answerer[] | undefined;
  /** What nodes of the step returned in a run that failed in it. */
  readonly returned?: Returned | undefined;
}

/** What the nodes of a step begin with. */
export type StepState = Pick<
  RunState,
  'state' | 'nodes' | 'step' | 'continuation' | 'at' | 'answers' | 'answeredBy' | 'returned'
>;

export const emptyDelta: Delta = { fields: {}, messages: [], mayReplace: false, removed: [] };

/** The changes of one delta and, over them, those of another. */
export function joinDeltas(first: Delta, second: Delta): Delta {
  if (first === emptyDelta) return second;
  return {
    fields: { ...first.fields, ...second.fields },
    messages: [...first.messages, ...second.messages],
    mayReplace: first.mayReplace || second.mayReplace,
    removed: [...first.removed, ...second.removed],
  };
}

/** The nodes that run in the next step: those that do not sleep on. */
export const awakeNodes = ({
  nodes,
  continuation,
  at,
}: Pick<RunState, 'nodes' | 'continuation' | 'at'>): readonly string[] =>
  continuation ? nodes.filter((node) => !isAsleep(continuation, node, at)) : nodes;

/** The visits after the next step of a run. A node that begins again after a sleep goes on with the same visit. */
export function countVisits({
  visits,
  nodes,
  continuation,
}: Pick<RunState, 'visits' | 'nodes' | 'continuation'>): ReadonlyMap<string, number> {
  const counted = new Map(visits);
  for (const node of nodes)
    if (wakeTimeOf(continuation, node) === undefined) counted.set(node, (counted.get(node) ?? 0) + 1);
  return counted;
}

/** Appends events that `events` wrote, at least one, after those that it wrote before them. Resolves when followers may see them. */
export const append = (
  { eventLog }: Pick<DriveOptions, 'eventLog'>,
  events: EventWriter,
  list: readonly RunEvent[],
  options?: AppendOptions,
): Promise<void> => eventLog.append(events.scope, (list[0]?.seq ?? Infinity) - 1, list, options);

const unawaited: AppendOptions = { isAwaited: false };
const ignore = (): void => undefined;

/** Appends events without waiting for it. */
export function publish(options: Pick<DriveOptions, 'eventLog'>, events: EventWriter, list: readonly RunEvent[]): void {
  if (list.length === 0) return;
  // A log that cannot be written does not delay the run: the append of its last event is awaited and reported.
  append(options, events, list, unawaited).catch(ignore);
}
