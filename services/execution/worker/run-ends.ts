import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { HistoryCalls, RunCalls, RunReadCalls, StateCalls, ThreadKey } from '@agent-workflow/protos/threads';
import { publishEnd } from '../events/publish-end.ts';
import { named } from '../record/agents.ts';
import type { KnownAgents } from '../record/known-agents.ts';
import type { RunLog } from '../ports/log.ts';
import type { RunnableRun, RunQueue } from '../ports/queue.ts';

interface RunEndOptions {
  readonly known: KnownAgents;
  readonly threads: RunCalls & RunReadCalls & StateCalls & HistoryCalls;
  readonly queue: RunQueue;
  readonly eventLog: RunLog;
  readonly log: Log;
}

/** What a worker does when a run has ended, other than by its own last step. */
export interface RunEnds {
  /** Publishes from the record how a run ended, if it has ended. Never rejects. */
  readonly publish: (owner: string, runId: string) => Promise<void>;
  /** Puts the thread's next run into the queue, if there is one: of the same agent as the run that has ended. */
  readonly enqueueNext: (thread: ThreadOfAgent, nextRunId: string | undefined) => Promise<void>;
  /** Ends a run as failed that the service itself could not drive. Resolves with whether it could be ended; never rejects. */
  readonly fail: (run: ThreadOfAgent & { readonly runId: string }) => Promise<boolean>;
}

/** A thread, the agent that it belongs to, and the revision that serves its next run, as far as it is known. */
type ThreadOfAgent = Pick<RunnableRun, keyof ThreadKey | 'agent' | 'revision'>;

const callTimeoutMs = 30_000;

export function createRunEnds(options: RunEndOptions): RunEnds {
  const { threads, queue, log } = options;

  const publish: RunEnds['publish'] = async (owner, runId) => {
    try {
      const run = await threads.getRun({ owner, runId }, within(callTimeoutMs));
      // A run without an end was taken over: its new worker publishes it.
      if (run.end) await publishEnd(options, run);
    } catch (error) {
      // The thread is deleted: its deletion publishes the ends of its runs.
      if (isServiceError(error, 'NotFound')) return;
      log.error({ err: error, runId }, 'the end of a run could not be published; its followers get it later');
    }
  };

  const enqueueNext: RunEnds['enqueueNext'] = async ({ owner, threadId, agent, revision }, nextRunId) => {
    if (nextRunId !== undefined) await queue.enqueue({ owner, threadId, runId: nextRunId, ...named(agent, revision) });
  };

  return {
    publish,
    enqueueNext,

    fail: async ({ owner, threadId, runId, agent }) => {
      try {
        const error = { code: 'Internal', message: 'the run could not be driven to its end' } as const;
        const end = { owner, runId, status: 'failed', error } as const;
        const { nextRunId, nextRevision } = await threads.endRun(end, within(callTimeoutMs));
        await Promise.all([
          publish(owner, runId),
          enqueueNext({ owner, threadId, ...named(agent, nextRevision) }, nextRunId),
        ]);
        return true;
      } catch (error) {
        log.error({ err: error, runId }, 'a run could not be ended; another worker takes it over');
        return false;
      }
    },
  };
}
