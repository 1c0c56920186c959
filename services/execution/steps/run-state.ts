import type { BoundMemory, RunContext } from '@agent-workflow/graph/build/context';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { Continuation } from '@agent-workflow/graph/run/continuation';
import type { CodeFault } from '@agent-workflow/graph/state/failure';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { EngineState } from '@agent-workflow/graph/state/state';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import type { Added } from '../record/added.ts';
import type { RunOptions } from '../record/run-options.ts';
import type { StateSize } from '../record/state-size.ts';
import type { ThreadState } from '../record/thread-state.ts';
import type { RunLog } from '../ports/log.ts';

/** What one claimed run is driven with. */
export interface DriveOptions {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly options: RunOptions;
  readonly graph: CompiledGraph;
  readonly threads: Threads;
  /** The thread state that the claim was made with. */
  readonly cached: ThreadState | undefined;
  readonly run: RunContext;
  /** The memory service, whose calls end with this signal. */
  readonly memoryUnder: (signal: AbortSignal) => BoundMemory;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  readonly eventLog: RunLog;
  /** Called with what the agent's code threw where the run continues nevertheless. */
  readonly onFault?: ((fault: CodeFault) => void) | undefined;
  /** Called with the nodes of each step as it begins. */
  readonly onStep: (nodes: readonly string[]) => void;
  /** Called when the record is unavailable for a commit, which then waits. */
  readonly onAway: (error: unknown) => void;
}

/** The state of a run between two steps. */
export interface Progress {
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
  /** Answers to the questions of the interrupted run before this one: for the first step. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
}

export const emptyDelta: Delta = { fields: {}, messages: [], mayReplace: false, removed: [] };

/** The visits after the step that `progress` stands before. */
export function countVisits({ visits, nodes }: Pick<Progress, 'visits' | 'nodes'>): ReadonlyMap<string, number> {
  const counted = new Map(visits);
  for (const node of nodes) counted.set(node, (counted.get(node) ?? 0) + 1);
  return counted;
}
