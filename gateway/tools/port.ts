import type { RemoteTool } from '@agent-workflow/protos/execution';

/**
 * The tools that callers set up for their later runs, by owner. It is no record: an owner whose tools are lost sets them up
 * again. But a run must not silently go without the tools of its owner: a call rejects with `Unavailable` while the store is
 * unavailable, unless the list is known.
 */
export interface ToolStore extends AsyncDisposable {
  /** Replaces the list of the owner, which is stored for `toolsTtlMs`. */
  readonly put: (owner: string, tools: readonly RemoteTool[]) => Promise<void>;
  /** The last list of the owner; empty when there is none or it has expired. */
  readonly get: (owner: string) => Promise<readonly RemoteTool[]>;
}

/** How long tools that were set up are stored, in milliseconds. */
export const toolsTtlMs = 24 * 60 * 60 * 1000;
