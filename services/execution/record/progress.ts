import type { ClaimedRun } from '@agent-workflow/protos/threads';
import type { Continuation } from '@agent-workflow/graph/run/continuation';
import type { Visits } from '@agent-workflow/protos/progress';
import { addedBefore, type Added } from './added.ts';
import { fromJson } from './json.ts';

/** What an earlier claim of the run left on record. */
interface EarlierProgress {
  readonly added: Added;
  /** How many times each node has run in this run. */
  readonly visits: ReadonlyMap<string, number>;
  /** Also what an interrupted run left for the run that resumes it. */
  readonly continuation: Continuation | undefined;
}

/** What each commit stores for the worker that claims the run next. The keys are stored: they do not change. */
interface StoredProgress {
  readonly visits: Visits;
  readonly carry?: Continuation;
}

export const toProgressJson = (
  visits: ReadonlyMap<string, number>,
  continuation: Continuation | undefined,
): Uint8Array => Buffer.from(JSON.stringify({ visits: Object.fromEntries(visits), carry: continuation }));

export function fromProgress(claimed: ClaimedRun): EarlierProgress {
  const { progressJson, isTakeover, step } = claimed;
  const stored: StoredProgress = progressJson ? (fromJson(progressJson) as StoredProgress) : { visits: {} };
  // Before its first commit a run finds the progress of the run before it, whose iterations do not count for this one.
  const visits = isTakeover && step > 0 ? stored.visits : {};
  return {
    added: addedBefore(claimed),
    visits: new Map(Object.entries(visits)),
    continuation: stored.carry,
  };
}
