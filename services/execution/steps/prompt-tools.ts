import type { CompiledGraph } from '@agent-workflow/graph/build/graph';

type Tool = CompiledGraph['tools'][number];

/** Which pure tools of this process end within the turn of the event loop in which they are called, as far as is known. */
export interface PromptTools {
  /** Whether each of them is worth a try: one that was late is not tried for a while. */
  readonly mayBe: (tools: readonly Tool[]) => boolean;
  /** Notes how a call went. */
  readonly note: (tools: readonly Tool[], wasPrompt: boolean) => void;
}

/** How long a tool that was late is not tried, in milliseconds: longer each time that it is late again. */
const firstPauseMs = 1000;
const longestPauseMs = 60_000;

/** @param now a clock that only goes forward, in milliseconds. */
export function createPromptTools(now: () => number = () => performance.now()): PromptTools {
  const late = new WeakMap<Tool, { readonly until: number; readonly pauseMs: number }>();
  return {
    mayBe: (tools) => tools.every((tool) => (late.get(tool)?.until ?? 0) <= now()),
    note: (tools, wasPrompt) => {
      for (const tool of tools) {
        if (wasPrompt) late.delete(tool);
        else {
          const pauseMs = Math.min(2 * (late.get(tool)?.pauseMs ?? firstPauseMs / 2), longestPauseMs);
          late.set(tool, { until: now() + pauseMs, pauseMs });
        }
      }
    },
  };
}
