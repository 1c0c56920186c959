import type { RemoteTool } from '@agent-workflow/protos/execution';

/**
 * The tools that callers have set up for their runs to come, by owner. It is no record: an owner whose tools are forgotten
 * sets them up again. But a run may not lose tools that its owner has: a call whose store is away rejects with
 * `Unavailable`, unless the answer is known.
 */
export interface ToolShelf extends AsyncDisposable {
  /** Replaces what the owner had. It is kept for `keptMs` from now. */
  readonly put: (owner: string, tools: readonly RemoteTool[]) => Promise<void>;
  /** What the owner set up last; empty when there is nothing, or not any more. */
  readonly get: (owner: string) => Promise<readonly RemoteTool[]>;
}

/** How long tools that are set up last, in milliseconds. */
export const keptMs = 24 * 60 * 60 * 1000;
