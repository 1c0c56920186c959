import type { CompiledGraph } from '@agent-workflow/graph/build/graph';

type Tool = CompiledGraph['tools'][number];

/** Which pure tools of this process end within the turn of the event loop in which they are called, as far as is known. */
export interface PromptTools {
  /** Whether each of them is worth a try: one that was late twice is not tried for a while. */
  readonly mayBe: (tools: readonly Tool[]) => boolean;
  /** Notes how their calls went. */
  readonly note: (tools: readonly Tool[], wasPrompt: boolean) => void;
}

/** How long a tool that was late again is not tried, in milliseconds: longer each time. */
const firstPauseMs = 1000;
const longestPauseMs = 60_000;

interface Late {
  readonly until: number;
  /** The pause that ends then; 0 when the tool was late one time, as any tool is on a busy machine now and then. */
  readonly pauseMs: number;
}

const firstLate: Late = { until: 0, pauseMs: 0 };

/** @param now a clock that only goes forward, in milliseconds. */
export function createPromptTools(now: () => number = () => performance.now()): PromptTools {
  const late = new WeakMap<Tool, Late>();
  const lateAgain = ({ pauseMs: before }: Late): Late => {
    const pauseMs = before === 0 ? firstPauseMs : Math.min(2 * before, longestPauseMs);
    return { until: now() + pauseMs, pauseMs };
  };
  return {
    mayBe: (tools) => tools.every((tool) => (late.get(tool)?.until ?? 0) <= now()),
    note: (tools, wasPrompt) => {
      for (const tool of tools) {
        const before = late.get(tool);
        if (!wasPrompt) late.set(tool, before ? lateAgain(before) : firstLate);
        else if (before) late.delete(tool);
      }
    },
  };
}
