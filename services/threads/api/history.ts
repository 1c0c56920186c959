import type { HistoryCalls } from '@agent-workflow/protos/threads';
import { getCheckpoint, listCheckpoints } from '../history/checkpoints.ts';
import { createForks, type ForkStore } from '../history/fork.ts';
import { toThread } from '../lists/lists.ts';
import { refuseMetadata } from '../record/bounds.ts';
import { keyOf, liveHead } from './found.ts';

export function createHistoryCalls(store: ForkStore, now: () => number): HistoryCalls {
  const forks = createForks(store, now);
  return {
    listCheckpoints: async (request, call) => {
      await liveHead(store, keyOf(request));
      return listCheckpoints(store, request, call);
    },

    getCheckpoint: async (request) => {
      await liveHead(store, keyOf(request));
      return getCheckpoint(store, request);
    },

    forkThread: async (request) => {
      refuseMetadata(request.metadataJson, ['config', 'metadata']);
      await liveHead(store, keyOf(request));
      return toThread({ threadId: request.newThreadId, ...(await forks.make(request)) });
    },
  };
}
