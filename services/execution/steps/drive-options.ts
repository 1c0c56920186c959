import type { Replicas } from '@agent-workflow/protos/call';
import type { RunContext } from '@agent-workflow/graph/build/context';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { LateCall } from '@agent-workflow/graph/run/late-call';
import type { CodeFault } from '@agent-workflow/graph/state/failure';
import type { ClaimedRun, RunCalls, RunReadCalls, StateCalls, ToolRecordCalls } from '@agent-workflow/protos/threads';
import type { Usage } from '@agent-workflow/protos/usage';
import type { RunOptions } from '../record/run-options.ts';
import type { ThreadState } from '../record/thread-state.ts';
import type { RunLog } from '../ports/log.ts';
import type { PromptTools } from './prompt-tools.ts';
import type { RunUsage } from './run-usage.ts';

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
  readonly promptTools: PromptTools;
  /** Called with the tokens by model that a commit has put on record. */
  readonly onUsage?: ((added: Usage) => void) | undefined;
  /** Called with what the agent's code threw where the run continues nevertheless. */
  readonly onFault?: ((fault: CodeFault) => void) | undefined;
  /** Called when a node or a tool publishes after it has ended, which is dropped. */
  readonly onLate?: ((late: LateCall) => void) | undefined;
  /** Called with the nodes of each step as it begins. */
  readonly onStep: (nodes: readonly string[]) => void;
  /** Called when the record is unavailable for a commit, which then waits. */
  readonly onAway: (error: unknown) => void;
}
