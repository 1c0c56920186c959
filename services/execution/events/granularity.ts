import type { Granularity } from '@agent-workflow/protos/lists';

interface Shown {
  /** The state with the context, and what each step changed of them. */
  readonly state: boolean;
  /** The summary of what was left out of the context. */
  readonly summary: boolean;
}

/** What the events and the result of a run show beside its messages. */
export const shownAt: Readonly<Record<Granularity, Shown>> = {
  low: { state: false, summary: false },
  partial: { state: true, summary: false },
  full: { state: true, summary: true },
};
