import type { HistoryCalls } from '@agent-workflow/protos/threads';
import type { References } from '../files/references.ts';
import { getCheckpoint, listCheckpoints } from '../history/checkpoints.ts';
import { createForks, type ForkStore } from '../history/fork.ts';
import { toThread } from '../lists/lists.ts';
import { refuseMetadata } from '../record/bounds.ts';
import { keyOf, liveHead } from './found.ts';

interface HistoryCallsOptions {
  readonly store: ForkStore;
  readonly references: References;
  readonly now: () => number;
}

export function createHistoryCalls({ store, references, now }: HistoryCallsOptions): HistoryCalls {
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
      await references.copy(keyOf(request), { owner: request.owner, threadId: request.newThreadId });
      return toThread({ threadId: request.newThreadId, ...(await forks.make(request)) });
    },
  };
}
