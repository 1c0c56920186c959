import type { CountOpenRunsReply } from '@agent-workflow/protos/execution';
import type { RevisionState } from '@agent-workflow/protos/lists';
import type { AgentRevision } from '@agent-workflow/protos/threads';

/** A revision with the runs that it has. */
interface RevisionLoad {
  readonly state: RevisionState;
  /** Absent: not counted yet. */
  readonly openRuns?: number;
}

/**
 * How long after a change of the routing a run may still be given to the revision before, in milliseconds: a replica knows a routing for two
 * seconds, and clocks differ.
 */
const settleMs = 10_000;

/**
 * The runs of a revision, and whether it has served its last one: two whole sweeps that began after new runs were routed away from it
 * have found none.
 */
export function loadOf(agent: string, of: AgentRevision, counted: CountOpenRunsReply | undefined): RevisionLoad {
  const { counts = [], twoSweepsSince } = counted ?? {};
  if (twoSweepsSince === undefined) return { state: of.state };
  const found = counts.find((one) => one.agent === agent && one.revision === of.revision);
  const isSettled = twoSweepsSince >= (of.unroutedAt ?? 0) + settleMs;
  const isDrained = of.state === 'draining' && !found && isSettled;
  return { state: isDrained ? 'drained' : of.state, openRuns: found?.runs ?? 0 };
}
