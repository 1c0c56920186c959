import type { ThreadReadCalls } from '@agent-workflow/protos/threads';
import { listThreads, toThread } from '../lists/lists.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import { liveHead } from './found.ts';

export const createThreadReadCalls = (store: ThreadReads & ThreadLists): ThreadReadCalls => ({
  getThread: async (key) => {
    const head = await liveHead(store, key);
    const { activeRun } = head;
    return {
      ...toThread({ threadId: key.threadId, ...head }),
      ...(activeRun !== undefined && { activeRunId: activeRun }),
    };
  },

  listThreads: (request, call) => listThreads(store, request, call),
});
