import { defaultAgent } from '@agent-workflow/kit/agents';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import type { DrivenRuns } from '../ports/leases.ts';
import type { HeldAgents, RunnableRun } from '../ports/queue.ts';

/** A run with the epoch of this worker's claim, from which another worker may take it over. */
export type ActiveRun = RunnableRun & Required<Pick<RunnableRun, 'takeoverEpoch'>>;

/** The runs that one worker drives, and those whose claims are under way. */
export interface ActiveRuns {
  /** Counts the run as active, because its claim may take effect. Call the result once the claim is answered. */
  readonly expectClaim: (runId: string) => () => void;
  /** Counts the run as driven until the result is disposed of. Fires the signal of an older claim of the same run. */
  readonly begin: (run: ActiveRun) => Driving;
  /** Fires the signal of a run; that of an expected run as soon as it begins. */
  readonly stop: (runId: string) => void;
  readonly drives: (runId: string) => boolean;
  /** What a run reports while it is driven here; `undefined` when it is not. */
  readonly reportsOf: (runId: string) => RunReports | undefined;
  /** Whether the run is driven or expected. */
  readonly has: (runId: string) => boolean;
  /** All driven runs. */
  readonly all: () => readonly ActiveRun[];
  /** Fires the signals of all driven runs, and of each run that begins from here on. */
  readonly stopAll: (reason: Error) => void;
}

/** What the nodes of a run have reported. Once the signal has fired, another worker may have the run. */
export interface RunReports {
  readonly signal: AbortSignal;
  any: boolean;
}

interface Driving extends Disposable {
  readonly reports: RunReports;
}

interface DrivenRun {
  readonly run: ActiveRun;
  readonly controller: AbortController;
  readonly reports: RunReports;
}

interface ExpectedRun {
  claims: number;
  stopped: boolean;
}

export function createActiveRuns(): ActiveRuns {
  const driven = createShortLivedMap<string, DrivenRun>();
  const expected = createShortLivedMap<string, ExpectedRun>();
  let allStopped: Error | undefined;

  const answered = (runId: string, run: ExpectedRun): void => {
    run.claims--;
    if (run.claims === 0) expected.delete(runId);
  };

  return {
    expectClaim: (runId) => {
      const run = expected.get(runId) ?? { claims: 0, stopped: false };
      run.claims++;
      expected.set(runId, run);
      return () => answered(runId, run);
    },

    begin: (run) => {
      const { runId } = run;
      const controller = new AbortController();
      const own = { run, controller, reports: { signal: controller.signal, any: false } };
      driven.get(runId)?.controller.abort(new Error('the run was claimed again'));
      driven.set(runId, own);
      const reason = expected.get(runId)?.stopped === true ? stopped() : allStopped;
      if (reason) own.controller.abort(reason);
      return {
        reports: own.reports,
        [Symbol.dispose]: () => {
          if (driven.get(runId) === own) driven.delete(runId);
        },
      };
    },

    stop: (runId) => {
      const run = expected.get(runId);
      if (run) run.stopped = true;
      driven.get(runId)?.controller.abort(stopped());
    },

    drives: (runId) => driven.has(runId),
    reportsOf: (runId) => driven.get(runId)?.reports,
    has: (runId) => driven.has(runId) || expected.has(runId),
    all: () => driven.values().map(({ run }) => run),

    stopAll: (reason) => {
      allStopped = reason;
      for (const { controller } of driven.values()) controller.abort(reason);
    },
  };
}

const stopped = (): Error => new Error('the run was stopped');

/** How many of the runs each agent has, by revision. The one that is held is always among them, so that replicas know what an idle worker holds. */
export function countDriven(held: HeldAgents, runs: readonly RunnableRun[]): readonly DrivenRuns[] {
  const counts = new Map(held.agents.map((agent) => [agent, new Map([[held.revision, 0]])]));
  for (const { agent = defaultAgent, revision } of runs) {
    const ofAgent = counts.get(agent);
    ofAgent?.set(revision, (ofAgent.get(revision) ?? 0) + 1);
  }
  return [...counts].map(([agent, revisions]) => ({
    agent,
    revisions: [...revisions].map(([revision, count]) => ({ ...revisionNamed(revision), runs: count })),
  }));
}

const revisionNamed = (revision: string | undefined): { readonly revision?: string } =>
  revision === undefined ? {} : { revision };
