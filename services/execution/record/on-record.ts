import { defaultAgent } from '@agent-workflow/kit/agents';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { RunReadCalls } from '@agent-workflow/protos/threads';
import type { OnRecord, RunnableRun } from '../ports/queue.ts';

const callTimeoutMs = 5000;

/** Looks runs up, so that a pool enqueues no runs that it has made up: they would count against the bounds of all agents. */
export const createOnRecord =
  (threads: Pick<RunReadCalls, 'getRun'>) =>
  async ({ owner, threadId, runId, agent, revision, takeoverEpoch }: RunnableRun): Promise<OnRecord> => {
    const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, within(callTimeoutMs)));
    const isOfAgent = (run?.agent ?? defaultAgent) === (agent ?? defaultAgent);
    if (run?.threadId !== threadId || !isOfAgent) return 'unknown';
    // Another revision or claim: the run was moved or claimed meanwhile.
    const isSame = (revision ?? run.revision) === run.revision && (takeoverEpoch ?? run.epoch) === run.epoch;
    return run.end === undefined && isSame ? 'open' : 'over';
  };
