import type { Log } from '@agent-workflow/kit/log';
import type { Call } from '@agent-workflow/protos/call';
import { publishEnd, type EndParts } from '../events/publish-end.ts';
import { named } from '../record/agents.ts';
import type { RunControl } from '../ports/control.ts';
import type { RunQueue } from '../ports/queue.ts';

/** Does work that follows from a write on record. Its failure does not change the reply, and is logged. */
export type RunAside = (work: Promise<void>) => Promise<void>;

export const createRunAside =
  (log: Log): RunAside =>
  async (work) =>
    work.catch((error: unknown) => {
      // The record has decided. The sweep enqueues what was not enqueued, and followers publish what was not published.
      log.warn({ err: error }, 'what follows from a write on record failed; the next sweep repeats it');
    });

interface StoppedRun {
  readonly owner: string;
  readonly runId: string;
  readonly nextRunId?: string | undefined;
}

/** After a stop on record: fires the run's signal, enqueues the thread's next run, and publishes the end. */
export type FinishStop = (run: StoppedRun, call: Call) => Promise<void>;

interface StopOptions extends EndParts {
  readonly queue: RunQueue;
  readonly control: RunControl;
  readonly runAside: RunAside;
}

export function createFinishStop(options: StopOptions): FinishStop {
  const { threads, queue, control, runAside } = options;
  return async ({ owner, runId, nextRunId }, call) => {
    control.stop(runId);
    const run = await threads.getRun({ owner, runId }, call);
    control.stop(runId, run.agent);
    if (nextRunId !== undefined)
      void runAside(queue.enqueue({ owner, threadId: run.threadId, runId: nextRunId, ...named(run.agent) }));
    await publishEnd(options, run);
  };
}
