import type { ToolDeclaration } from '@agent-workflow/graph';

/** A tool to call. */
export interface PlannedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What the agent knows while it plans. */
export interface Known {
  readonly userName: string;
  readonly tools: readonly ToolDeclaration[];
}

/** What one sentence asks for: to say something, to call a tool, to call the user by a name. */
export interface Step {
  readonly words?: string;
  readonly call?: PlannedCall;
  readonly userName?: string;
}
