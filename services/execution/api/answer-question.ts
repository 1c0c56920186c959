import { defaultAgent } from '@agent-workflow/kit/agents';
import { requestContext, toContextHeaders } from '@agent-workflow/kit/request-context';
import type { Execution } from '@agent-workflow/protos/execution';
import type { RunCalls } from '@agent-workflow/protos/threads';
import type { RunQueue } from '../ports/queue.ts';
import { named } from '../record/agents.ts';
import { traceOfRequest } from './accept-request.ts';
import type { RunAside } from './stop.ts';

interface AnswerOptions {
  readonly threads: Pick<RunCalls, 'answerQuestion'>;
  readonly queue: Pick<RunQueue, 'enqueue'>;
  readonly runAside: RunAside;
}

/** Brings an answer to the record, and enqueues the run that goes on. One that is not enqueued here is found by the sweep of open runs. */
export const createAnswerQuestion =
  ({ threads, queue, runAside }: AnswerOptions): Execution['answerQuestion'] =>
  async (request, call) => {
    const reply = await threads.answerQuestion(request, call);
    const { runId, agent = defaultAgent, revision } = reply;
    if (runId === undefined) return reply;
    const { owner, threadId } = request;
    const trace = toContextHeaders({ requestId: requestContext().requestId, ...traceOfRequest() });
    void runAside(queue.enqueue({ owner, threadId, runId, ...named(agent, revision), trace }));
    return reply;
  };
