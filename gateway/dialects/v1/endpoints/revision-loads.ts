import type { CountOpenRunsReply } from '@agent-workflow/protos/execution';
import type { RevisionState } from '@agent-workflow/protos/lists';
import type { AgentRevision } from '@agent-workflow/protos/threads';

/** A revision with the runs and the workers that it has. */
interface RevisionLoad {
  readonly state: RevisionState;
  /** Absent: not counted yet. */
  readonly openRuns?: number;
  /** Absent: not known. */
  readonly workers?: number;
}

/**
 * How long after a change of the routing a run may still be given to the revision before, in milliseconds: a replica knows a routing for two
 * seconds, and clocks differ.
 */
const settleMs = 10_000;

/**
 * The runs and the workers of a revision, and whether it has served its last one: two whole sweeps that began after new runs were routed away from it
 * have found none.
 */
export function loadOf(
  agent: string,
  registered: AgentRevision,
  counted: CountOpenRunsReply | undefined,
): RevisionLoad {
  const { counts = [], twoSweepsSince, workers = [] } = counted ?? {};
  const isOf = (one: { readonly agent: string; readonly revision?: string }): boolean =>
    one.agent === agent && one.revision === registered.revision;
  const held = workers.find(isOf);
  const holding = held && { workers: held.workers };
  if (twoSweepsSince === undefined) return { state: registered.state, ...holding };
  const found = counts.find(isOf);
  const isSettled = twoSweepsSince >= (registered.unroutedAt ?? 0) + settleMs;
  const isDrained = registered.state === 'draining' && !found && isSettled;
  return { state: isDrained ? 'drained' : registered.state, openRuns: found?.runs ?? 0, ...holding };
}
