import type { HistoryCalls } from '@agent-workflow/protos/threads';
import type { References } from '../files/references.ts';
import { getCheckpoint, listCheckpoints } from '../history/checkpoints.ts';
import { createForks, type ForkStore } from '../history/fork.ts';
import { toThread } from '../lists/lists.ts';
import { refuseMetadata } from '../record/bounds.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { ofAgent } from '../state/read.ts';
import { keyOf, liveHead } from './found.ts';

interface HistoryCallsOptions {
  readonly store: ForkStore;
  readonly references: References;
  readonly texts: StoredTexts;
  readonly now: () => number;
}

export function createHistoryCalls({ store, references, texts, now }: HistoryCallsOptions): HistoryCalls {
  const forks = createForks(store, now);
  return {
    listCheckpoints: async (request, call) => {
      await liveHead(store, keyOf(request));
      return listCheckpoints({ store, texts }, request, call);
    },

    getCheckpoint: async (request) => {
      const head = await liveHead(store, keyOf(request));
      const { checkpoint, state } = await getCheckpoint({ store, texts }, request);
      return { checkpoint, state: ofAgent(state, head) };
    },

    forkThread: async (request, call) => {
      refuseMetadata(request.metadataJson, ['config', 'metadata']);
      await liveHead(store, keyOf(request));
      const { owner, newThreadId: threadId } = request;
      const made = await references.withCopy(keyOf(request), { owner, threadId }, () => forks.make(request, call));
      return toThread({ threadId, ...made });
    },
  };
}
