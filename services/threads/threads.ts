import type { Threads } from '@agent-workflow/protos/threads';
import { createDeclaredFields } from './agents/declared-fields.ts';
import { createRoutings } from './agents/routings.ts';
import { createAgentCalls } from './api/agents.ts';
import { createChanging } from './api/changing.ts';
import { createDeletionCalls } from './api/deletion.ts';
import { createFileCalls } from './api/files.ts';
import { createGrantCalls } from './api/grants.ts';
import { createHistoryCalls } from './api/history.ts';
import { createIdempotencyCalls } from './api/idempotency.ts';
import { createMessageCalls } from './api/messages.ts';
import { createRunReadCalls } from './api/run-reads.ts';
import { createRunCalls, type ClockAhead } from './api/runs.ts';
import { createStateCalls } from './api/state.ts';
import { createSweepCalls } from './api/sweeps.ts';
import { createThreadReadCalls } from './api/threads.ts';
import { createToolRecordCalls } from './api/tool-records.ts';
import { threadsSettings } from './config.ts';
import { createReferences } from './files/references.ts';
import type { ThreadStore } from './ports/store.ts';
import { createStoredTexts, type UnreadableText } from './record/stored-texts.ts';
import { createStateReader } from './state/read.ts';

/** The threads service on a store. Each decision is a pure function of one snapshot; the store makes it atomic. */
export function createThreads({
  store,
  now = Date.now,
  keep = threadsSettings.CHECKPOINT_KEEP.fallback,
  onUnreadable = () => undefined,
  onClockAhead = () => undefined,
}: {
  readonly store: ThreadStore;
  readonly now?: () => number;
  /** Versions of a thread that are kept to go back to. */
  readonly keep?: number;
  /** Takes each stored text that is left out of a reply, because it is not the JSON that it should be. */
  readonly onUnreadable?: (text: UnreadableText) => void;
  /** Called with each commit of a worker whose clock is ahead; its times are moved to those of `now`. */
  readonly onClockAhead?: (ahead: ClockAhead) => void;
}): Threads {
  const texts = createStoredTexts(onUnreadable);
  const states = createStateReader(store, texts);
  const changing = createChanging({ store, now, keep });
  const references = createReferences({ store, now });
  const elapsed = (): number => performance.now();
  const routings = createRoutings(store, { elapsed, now });
  const declared = createDeclaredFields(store, elapsed);
  return {
    ...createRunCalls({ store, states, changing, references, routings, declared, now, onClockAhead }),
    ...createRunReadCalls({ store, texts }),
    ...createGrantCalls(store),
    ...createToolRecordCalls(changing),
    ...createStateCalls({ store, states, texts, changing, references, now }),
    ...createMessageCalls({ store, changing, texts, references, now }),
    ...createHistoryCalls({ store, references, texts, now }),
    ...createThreadReadCalls({ store, texts }),
    ...createDeletionCalls({ store, states, changing, references, now }),
    ...createSweepCalls(store, routings, now),
    ...createIdempotencyCalls(store, now),
    ...createFileCalls({ store, references, now }),
    ...createAgentCalls({ store, routings, now }),
  };
}
