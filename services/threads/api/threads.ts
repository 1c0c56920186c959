import type { ThreadReadCalls } from '@agent-workflow/protos/threads';
import { listThreads, toThread } from '../lists/lists.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { liveHead } from './found.ts';

interface ThreadReadCallsOptions {
  readonly store: ThreadReads & ThreadLists;
  readonly texts: StoredTexts;
}

export const createThreadReadCalls = ({ store, texts }: ThreadReadCallsOptions): ThreadReadCalls => ({
  getThread: async (key) => {
    const head = await liveHead(store, key);
    const { activeRun } = head;
    return {
      ...toThread(texts.withMetadata(key.threadId, 'thread', { threadId: key.threadId, ...head })),
      ...(activeRun !== undefined && { activeRunId: activeRun }),
    };
  },

  listThreads: (request, call) => listThreads({ store, texts }, request, call),
});
