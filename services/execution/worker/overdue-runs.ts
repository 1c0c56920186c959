import { eachOf } from '@agent-workflow/kit/each';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { Run, RunCalls } from '@agent-workflow/protos/threads';
import { named } from '../record/agents.ts';
import type { RunEnds } from './run-ends.ts';

interface OverdueOptions {
  readonly threads: Pick<RunCalls, 'endRun'>;
  readonly ends: Pick<RunEnds, 'publish' | 'enqueueNext'>;
  readonly log: Log;
  /** How long a run may wait for a worker, in seconds. */
  readonly ttlSeconds: number;
}

/** Fails runs that no worker has claimed for too long. */
export interface OverdueRuns {
  /** To be called with each open run that a sweep finds. */
  readonly add: (run: Run) => void;
  /** To be called at the end of a sweep. Never rejects: a run that cannot be failed is tried again at the end of the next one. */
  readonly fail: () => Promise<void>;
}

/** Runs failed after one sweep: more of them wait for the next one, so that they delay no takeover for long. */
const atMost = 100;
const atOnce = 8;
const callTimeoutMs = 30_000;

/**
 * A run waits from the sweep that first found it holding its thread without a worker. The record does not know that moment, so each replica
 * measures for itself, and begins anew with its process. The record fails a run once, and only while no worker has claimed it.
 */
export function createOverdueRuns({ threads, ends, log, ttlSeconds }: OverdueOptions): OverdueRuns {
  let since: ReadonlyMap<string, number> = new Map();
  let seen = new Map<string, number>();
  let overdue: Run[] = [];

  const failOne = async ({ owner, threadId, runId, agent }: Run): Promise<void> => {
    const message = `no worker of the agent "${agent}" took the run within ${String(ttlSeconds)} s`;
    const error = { code: 'Internal', message } as const;
    try {
      const end = { owner, runId, status: 'failed', error, onlyWaiting: true } as const;
      const { endedNow, nextRunId, nextRevision } = await threads.endRun(end, within(callTimeoutMs));
      if (!endedNow) return;
      log.warn({ runId, threadId, agent }, 'a run was failed because no worker took it');
      await Promise.all([
        ends.publish(owner, runId),
        ends.enqueueNext({ owner, threadId, ...named(agent, nextRevision) }, nextRunId),
      ]);
    } catch (thrown) {
      const isDecided = isServiceError(thrown, 'Stale') || isServiceError(thrown, 'NotFound');
      if (!isDecided)
        log.error({ err: thrown, runId }, 'an overdue run could not be failed; the next sweep tries again');
    }
  };

  return {
    add: (run) => {
      if (!run.runnable || run.status !== 'queued') return;
      const now = performance.now();
      const first = since.get(run.runId) ?? now;
      seen.set(run.runId, first);
      if (now - first >= ttlSeconds * 1000 && overdue.length < atMost) overdue.push(run);
    },

    fail: async () => {
      const runs = overdue;
      since = seen;
      seen = new Map();
      overdue = [];
      await eachOf(runs, atOnce, failOne);
    },
  };
}
