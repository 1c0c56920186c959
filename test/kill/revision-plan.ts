import { anonymousOwner } from '@agent-workflow/kit/ids';
import { revisionFor } from '@agent-workflow/protos/routing';

/** How new runs are routed for a while. */
export interface Phase {
  readonly current: string;
  readonly ramping?: { readonly revision: string; readonly percent: number };
}

/** The agent of `test/agents` of which all revisions are. */
export const agent = 'revised';
export const revisions = ['v1', 'v2', 'v3', 'v4', 'v5', 'v6'] as const;

/** The share of all runs that a phase has, and how new runs are routed in it. Five switches, one of them by a ramp, and a rollback. */
export const plan: readonly (Phase & { readonly share: number })[] = [
  { current: 'v1', share: 0.05 },
  { current: 'v2', share: 0.05 },
  { current: 'v2', ramping: { revision: 'v3', percent: 1 }, share: 0.15 },
  { current: 'v2', ramping: { revision: 'v3', percent: 10 }, share: 0.15 },
  { current: 'v2', ramping: { revision: 'v3', percent: 50 }, share: 0.2 },
  { current: 'v2', ramping: { revision: 'v3', percent: 100 }, share: 0.15 },
  { current: 'v3', share: 0.05 },
  { current: 'v4', share: 0.05 },
  { current: 'v3', share: 0.05 },
  { current: 'v5', share: 0.05 },
  { current: 'v6', share: 0.05 },
];

/** Serves new runs in one phase alone, and its worker ends for good in that one, with runs under way. */
export const lostRevision = 'v4';
/** Retired at the end, with questions that are open and runs that have begun. */
export const retiredRevisions: readonly string[] = ['v1', lostRevision];
/** Serves new runs at the end. It has no step `two`. */
export const lastRevision = 'v6';

/** The steps that a run has, in order. */
export const stepsOf = (revision: string): readonly string[] =>
  revision === lastRevision ? ['one', 'three'] : ['one', 'two', 'three'];

/** A replica knows a routing for so long, in milliseconds, and some more for a busy machine's clocks. */
export const knownAfterMs = 2100;

/** The revision of the thread's next run, as every replica decides that knows the routing. */
export const revisionIn = (phase: Phase | undefined, threadId: string): string | undefined =>
  revisionFor(phase, { owner: anonymousOwner, threadId }, agent);
