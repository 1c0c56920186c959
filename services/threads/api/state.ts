import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { State, StateCalls } from '@agent-workflow/protos/threads';
import type { References } from '../files/references.ts';
import { getCheckpoint } from '../history/checkpoints.ts';
import type { ThreadHistory } from '../ports/history.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { ofAgent, type StateReader } from '../state/read.ts';
import { decideClearState, decideWriteState } from '../state/write.ts';
import type { Changing } from './changing.ts';
import { idsOf, keyOf, liveHead } from './found.ts';

interface StateCallsOptions {
  readonly store: ThreadReads & ThreadHistory;
  readonly states: StateReader;
  readonly texts: StoredTexts;
  readonly changing: Changing;
  readonly references: References;
  readonly now: () => number;
}

export function createStateCalls({ store, states, texts, changing, references, now }: StateCallsOptions): StateCalls {
  /** The state as a write left it; the present one where that version is no longer kept. */
  const stateAt = async (key: ThreadKey, version: number): Promise<State> => {
    const head = await liveHead(store, key);
    if (head.version === version) return states.read(key, head);
    const kept = await undefinedIfNotFound(getCheckpoint({ store, texts }, { ...key, checkpointId: String(version) }));
    return kept ? ofAgent(kept.state, head) : states.read(key, await liveHead(store, key));
  };

  return {
    getState: async (key) => states.read(key, await liveHead(store, key)),

    writeState: async (request) => {
      const key = keyOf(request);
      const reads = { messages: idsOf(request.messages), fields: Object.keys(request.fields) };
      const toKept = ({ head }: { readonly head: Head }): number => head.version;
      const outcome = await references.withRequest(key, request.messages, () =>
        changing.changeOnRequest({ key, reads, method: 'writeState', request, toKept }, (snapshot) =>
          decideWriteState(request, snapshot, now()),
        ),
      );
      return 'made' in outcome ? states.read(key, outcome.made.head) : stateAt(key, outcome.kept);
    },

    clearState: async (request) => {
      const reads = { fields: 'all', context: true } as const;
      await changing.replyOnRequest({ key: keyOf(request), reads, method: 'clearState', request }, (snapshot) =>
        decideClearState(request.threadId, snapshot, now()),
      );
      return {};
    },
  };
}
