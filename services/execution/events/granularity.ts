import type { Granularity } from '@agent-workflow/protos/lists';

/** What a granularity can show or hide. Messages, errors and the ends of runs are always shown. */
interface Shown {
  /** The state with the context, and what each step changed of them. */
  readonly state: boolean;
  /** The summary of the messages that were left out of the context. */
  readonly summary: boolean;
}

/** What the events and the result of a run show beside its messages. */
export const shownAt: Readonly<Record<Granularity, Shown>> = {
  low: { state: false, summary: false },
  partial: { state: true, summary: false },
  full: { state: true, summary: true },
};
