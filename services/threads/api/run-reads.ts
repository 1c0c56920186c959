import type { RunReadCalls } from '@agent-workflow/protos/threads';
import { listOwnRuns, listRunMessages, listRuns, toProtoRun } from '../lists/lists.ts';
import type { ThreadHistory } from '../ports/history.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { listRunSteps } from '../runs/steps.ts';
import { keyOf, knownRun, liveHead } from './found.ts';

interface RunReadCallsOptions {
  readonly store: ThreadReads & ThreadLists & ThreadHistory;
  readonly texts: StoredTexts;
}

export const createRunReadCalls = ({ store, texts }: RunReadCallsOptions): RunReadCalls => ({
  getRun: async ({ owner, runId }) => {
    const run = await knownRun(store, owner, runId);
    const head = await liveHead(store, { owner, threadId: run.threadId });
    return toProtoRun(owner, run, head);
  },

  listRuns: async (request, call) => listRuns(store, request, await liveHead(store, keyOf(request)), call),

  listOwnRuns: (request, call) => listOwnRuns(store, request, call),

  listRunMessages: async (request, call) => {
    const run = await knownRun(store, request.owner, request.runId);
    await liveHead(store, { owner: request.owner, threadId: run.threadId });
    return listRunMessages({ store, texts }, request, run, call);
  },

  listRunSteps: async (request) => {
    const run = await knownRun(store, request.owner, request.runId);
    const key = { owner: request.owner, threadId: run.threadId };
    return { steps: await listRunSteps({ store, texts }, key, request, await liveHead(store, key)) };
  },
});
