import { threadText } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ClaimedRun, State } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import type { StoredState, ThreadReads } from '../ports/reads.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import { agentOf } from '../record/head.ts';
import { jsonArray } from '../record/json.ts';
import { sizeOfFields } from '../record/size.ts';
import type { StoredTexts } from '../record/stored-texts.ts';

/** Bytes of encoded states that are cached. A cached state whose version is the head's is returned without reading its rows. */
const cacheBytes = 16 * 1024 * 1024;

export interface StateReader {
  readonly read: (key: ThreadKey, head: Head) => Promise<State>;
  /** Drops a removed thread from the cache: one made again in the same millisecond begins with the same version. */
  readonly forget: (key: ThreadKey) => void;
}

/** Reads states without what cannot be read, and caches those whose version did not change during the reading. */
export function createStateReader(store: ThreadReads, texts: Pick<StoredTexts, 'state'>): StateReader {
  const cache = new LRUCache<string, State>({ maxSize: cacheBytes, sizeCalculation: (state) => sizeOf(state) + 1 });
  const read: StateReader['read'] = async (key, head) => {
    const name = threadText(key);
    const known = cache.get(name);
    if (known?.version === head.version) return ofAgent(known, head);
    const stored = await store.getState(key, sizes.contextWithInput);
    const state = toState(head.version, await texts.state(key.threadId, stored));
    // A write between the two reads would make this a state of an unknown version, so the version is read again.
    if ((await store.getHead(key))?.version === head.version) cache.set(name, state);
    return ofAgent(state, head);
  };
  return { read, forget: (key) => void cache.delete(threadText(key)) };
}

/** The state right after a claim. The fence keeps it unchanged until the claiming worker commits. */
export async function claimedState(store: ThreadReads, key: ThreadKey, claimed: ClaimedRun): Promise<State> {
  const { version, isNewThread, appended } = claimed;
  // A thread made by this very run holds only its input: there is nothing to read.
  if (isNewThread && claimed.epoch === 1)
    return { version, fields: {}, contextJson: jsonArray(appended.map(({ json }) => json)) };
  return toState(version, await store.getState(key, sizes.contextWithInput));
}

/** The state with the agent of its thread, which a thread gets without another version. */
export function ofAgent(state: State, head: Head): State {
  const agent = agentOf(head);
  return agent === undefined ? state : { ...state, agent };
}

const toState = (version: number, { fields, context, isTruncated }: StoredState): State => ({
  version,
  fields,
  contextJson: jsonArray(context),
  ...(isTruncated ? { contextTruncated: true } : {}),
});

const sizeOf = ({ fields, contextJson }: State): number => contextJson.byteLength + sizeOfFields(fields);
