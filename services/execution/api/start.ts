import { unavailable } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import { toContextHeaders, requestContext } from '@agent-workflow/kit/request-context';
import type { Call, Replicas } from '@agent-workflow/protos/call';
import type { Execution, StartRequest } from '@agent-workflow/protos/execution';
import type { AcceptRunReply, RunCalls, RunReadCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import { named } from '../record/agents.ts';
import type { KnownAgents } from '../record/known-agents.ts';
import type { RunnableRun, RunQueue } from '../ports/queue.ts';
import type { RunLog } from '../ports/log.ts';
import type { Worker } from '../worker/worker.ts';
import { messageField, withFields } from './fields-of-record.ts';
import { refuseTools, toAcceptRequest, traceOfRequest, withFittingTools } from './accept-request.ts';
import { endSoon } from './end-soon.ts';
import { createChooseAgent, type ChosenAgent } from './choose-agent.ts';
import type { StartedRuns } from './follow.ts';
import type { FinishStop, RunAside } from './stop.ts';

interface StartOptions {
  readonly known: KnownAgents;
  readonly threads: RunCalls & RunReadCalls & ThreadReadCalls;
  readonly queue: RunQueue;
  readonly eventLog: Pick<RunLog, 'canWrite' | 'end'>;
  /** Absent where this replica accepts runs and drives none. */
  readonly worker: Worker | undefined;
  /** Runs that may wait in the queue, of all agents and of one; while so many do, no more are accepted. */
  readonly backlog: { readonly all: number; readonly perAgent: number };
  readonly started: Pick<StartedRuns, 'add'>;
  readonly finishStop: FinishStop;
  readonly runAside: RunAside;
}

/** Accepts runs. A thread's idle state and a free slot here let the same write claim the run for this replica's worker. */
export function createStart(options: StartOptions): Execution['start'] {
  const { known, threads, queue, eventLog, worker, backlog, started, finishStop, runAside } = options;
  const choose = createChooseAgent(known, threads);

  /** Offers the run to the record for this agent. A run of another agent is not accepted. */
  const offer = async (
    given: StartRequest,
    threadId: string,
    { agent, naming }: ChosenAgent,
    call: Call & { readonly replicas: Replicas },
  ): Promise<AcceptRunReply> => {
    const { owner, runId } = given;
    const request = withFittingTools(agent, given);
    refuseTools(agent, request);
    const accept = { ...toAcceptRequest(agent, request, threadId), ...naming };
    let slot = worker?.reserve({ owner, threadId, runId });
    try {
      const reply = await withFields(
        threads.acceptRun({ ...accept, ...(slot ? { claim: slot.intent } : {}) }, call),
        messageField(
          ['initialState', 'context'],
          accept.messages.length - request.messages.length,
          request.messages.length > 0,
        ),
      );
      if (slot && reply.claimed) {
        slot.run(reply.claimed, call.replicas);
        slot = undefined;
      }
      return reply;
    } finally {
      slot?.release();
    }
  };

  /** The workers of one agent may be unavailable: its runs then take no room from those of other agents. */
  const refuseBacklog = (agent: string | undefined): void => {
    if (agent === undefined || queue.waiting(agent) < backlog.perAgent) return;
    throw unavailable(
      `${String(backlog.perAgent)} runs of the agent "${agent}" wait already, which is the limit of one agent`,
    );
  };

  return async (request, call) => {
    if (!eventLog.canWrite())
      throw unavailable('the events of runs cannot be written right now, so that no run is accepted');
    if (queue.waiting() >= backlog.all)
      throw unavailable(`${String(backlog.all)} runs wait already, which is the limit`);
    const { owner } = request;
    // A repeated request that reaches another replica must name the same thread.
    const threadId = request.threadId ?? idFrom(request.runId, 'thread');
    let agent: string | undefined;
    // The replica of the record that accepts the run knows its thread from then on. For a moment after a change of routing two replicas name
    // different revisions, so a run that is offered again goes to the same one.
    const replicas: Replicas = new Map();
    const reply = await choose({
      ...{ request, call, threadId },
      offer: async (chosen) => {
        agent = chosen.naming.agent;
        refuseBacklog(agent);
        return offer(request, threadId, chosen, { ...call, replicas });
      },
    });
    if (reply.runnable) void runAside(queue.enqueue(toRunnable(owner, reply, agent)));
    started.add(owner, reply.runId);
    if (reply.stoppedRunId !== undefined) {
      worker?.forget(owner, reply.threadId);
      await runAside(finishStop({ owner, runId: reply.stoppedRunId }, call));
    }
    const ms = worker?.drives(reply.runId) === true ? (request.awaitEndMs ?? 0) : 0;
    const end = ms > 0 ? await endSoon(eventLog, { runId: reply.runId, ms }, call) : undefined;
    return {
      ...{ runId: reply.runId, threadId: reply.threadId, isNewThread: reply.isNewThread, status: reply.status },
      ...(end && { end }),
    };
  };
}

const toRunnable = (
  owner: string,
  { threadId, runId, revision }: Pick<AcceptRunReply, 'threadId' | 'runId' | 'revision'>,
  agent: string | undefined,
): RunnableRun => ({
  owner,
  threadId,
  runId,
  ...named(agent, revision),
  trace: toContextHeaders({ requestId: requestContext().requestId, ...traceOfRequest() }),
});
