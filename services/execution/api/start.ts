import { unavailable } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import { toContextHeaders, requestContext } from '@agent-workflow/kit/request-context';
import type { Execution, StartReply } from '@agent-workflow/protos/execution';
import type { RunCalls } from '@agent-workflow/protos/threads';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { RunnableRun, RunQueue } from '../ports/queue.ts';
import type { Worker } from '../worker/worker.ts';
import { refuseTools, toAcceptRequest, traceOfRequest } from './accept-request.ts';
import type { StartedRuns } from './follow.ts';
import type { FinishStop, RunAside } from './stop.ts';

interface StartOptions {
  /** @throws NotFound when no agent is configured. */
  readonly graphOf: () => CompiledGraph;
  readonly threads: RunCalls;
  readonly queue: RunQueue;
  /** Absent where this replica accepts runs and drives none. */
  readonly worker: Worker | undefined;
  /** Runs that may wait in the queue; while so many do, no more are accepted. */
  readonly backlog: number;
  readonly started: Pick<StartedRuns, 'add'>;
  readonly finishStop: FinishStop;
  readonly runAside: RunAside;
}

/** Accepts runs. A thread's idle state and a free slot here let the same write claim the run for this replica's worker. */
export function createStart(options: StartOptions): Execution['start'] {
  const { graphOf, threads, queue, worker, backlog, started, finishStop, runAside } = options;
  return async (request, call) => {
    const graph = graphOf();
    const { owner, runId } = request;
    refuseTools(graph, request);
    if (queue.waiting() >= backlog) throw unavailable(`${String(backlog)} runs wait already, which is the limit`);
    // A repeated request that reaches another replica must name the same thread.
    const threadId = request.threadId ?? idFrom(runId, 'thread');
    const accept = toAcceptRequest(graph, request, threadId);
    let slot = worker?.reserve({ owner, threadId, runId });
    try {
      const reply = await threads.acceptRun({ ...accept, ...(slot ? { claim: slot.intent } : {}) }, call);
      if (slot && reply.claimed) {
        slot.run(reply.claimed);
        slot = undefined;
      }
      if (reply.runnable) void runAside(queue.enqueue(toRunnable(owner, reply)));
      started.add(owner, reply.runId);
      if (reply.stoppedRunId !== undefined) {
        worker?.forget(owner, reply.threadId);
        await runAside(finishStop({ owner, runId: reply.stoppedRunId }, call));
      }
      return { runId: reply.runId, threadId: reply.threadId, isNewThread: reply.isNewThread, status: reply.status };
    } finally {
      slot?.release();
    }
  };
}

const toRunnable = (owner: string, { threadId, runId }: Pick<StartReply, 'threadId' | 'runId'>): RunnableRun => ({
  owner,
  threadId,
  runId,
  trace: toContextHeaders({ requestId: requestContext().requestId, ...traceOfRequest() }),
});
