import { runContentBytes } from '@agent-workflow/protos/run-trace';
import { ContentBudget, type RunBudget } from '@agent-workflow/graph/trace/bounded-content';
import { StepTrace } from '@agent-workflow/graph/trace/step-trace';

/** Traces the steps of one claimed run. */
export class RunTrace {
  readonly #now: () => number;
  /** What is left of the bytes for what is for operators alone; absent: none of it is kept. */
  readonly #budget: RunBudget | undefined;

  /** `now` is the clock by which steps are dated, in milliseconds since 1970. */
  constructor({ now, keepsContent }: { readonly now: () => number; readonly keepsContent: boolean }) {
    this.#now = now;
    this.#budget = keepsContent ? { left: runContentBytes } : undefined;
  }

  /** The bytes of content that the run has, in steps that are not committed, too. */
  get contentBytes(): number {
    return this.#budget ? runContentBytes - this.#budget.left : 0;
  }

  /** An earlier claim of the run has left so many bytes of content. */
  goOnFrom(bytes: number): void {
    if (this.#budget) this.#budget.left = Math.max(0, runContentBytes - bytes);
  }

  /** Begins to trace a step that begins at this time. `isTakeover`: another worker had the run before. */
  begin(start: number, isTakeover: boolean): StepTrace {
    const budget = this.#budget && new ContentBudget(this.#budget);
    return new StepTrace({ start, isTakeover, now: this.#now, budget });
  }
}
