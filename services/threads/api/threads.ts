import { defaultAgent } from '@agent-workflow/kit/agents';
import { conflict, notFound } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type {
  CreateThreadRequest,
  Thread,
  ThreadChangeCalls,
  ThreadReadCalls,
  UpdateThreadRequest,
} from '@agent-workflow/protos/threads';
import { listThreads, toThread } from '../lists/lists.ts';
import { countThreads, searchThreads, stateOf } from '../lists/search.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import { refuseMetadata } from '../record/bounds.ts';
import { newHead } from '../record/head.ts';
import { fromJson, toJson } from '../record/json.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import type { Changing } from './changing.ts';
import { keyOf, liveHead } from './found.ts';

interface ThreadReadCallsOptions {
  readonly store: ThreadReads & ThreadLists;
  readonly texts: StoredTexts;
}

export const createThreadReadCalls = ({ store, texts }: ThreadReadCallsOptions): ThreadReadCalls => ({
  getThread: async ({ owner, threadId }) => {
    const head = await liveHead(store, { owner, threadId });
    const { activeRun, interruptedRun } = head;
    const waits = activeRun === undefined && interruptedRun !== undefined;
    return {
      ...toThread(texts.withMetadata(threadId, 'thread', { ...head, threadId })),
      ...stateOf(head),
      ...(activeRun !== undefined && { activeRunId: activeRun }),
      ...(waits && { askedBy: interruptedRun }),
    };
  },

  listThreads: (request, call) => listThreads({ store, texts }, request, call),
  searchThreads: (request, call) => searchThreads({ store, texts }, request, call),
  countThreads: (request, call) => countThreads({ store, texts }, request, call),
});

interface ThreadChangeCallsOptions {
  readonly store: ThreadReads;
  readonly changing: Changing;
  readonly texts: StoredTexts;
  readonly now: () => number;
}

export function createThreadChangeCalls({ store, changing, texts, now }: ThreadChangeCallsOptions): ThreadChangeCalls {
  const read = async ({ owner, threadId }: ThreadKey): Promise<Thread> => {
    const head = await liveHead(store, { owner, threadId });
    return { ...toThread(texts.withMetadata(threadId, 'thread', { ...head, threadId })), ...stateOf(head) };
  };
  return {
    createThread: async (request) => {
      refuseMetadata(request.metadataJson, ['metadata']);
      await changing.replyOnRequest({ key: keyOf(request), method: 'createThread', request }, (snapshot) =>
        decideCreate(request, snapshot, now()),
      );
      return read(request);
    },

    updateThread: async (request) => {
      await changing.replyOnRequest({ key: keyOf(request), method: 'updateThread', request }, (snapshot) =>
        decideUpdate(request, snapshot, { texts, now: now() }),
      );
      return read(request);
    },
  };
}

/** A thread that is being deleted is in the way until its rows are gone. */
function decideCreate(request: CreateThreadRequest, { head: there }: Snapshot, now: number): Decision<true> {
  const { threadId, agent } = request;
  if (there?.deleting) throw conflict(`thread "${threadId}" is being deleted`);
  if (there) throw conflict(`thread "${threadId}" exists already`);
  const isNamed = agent !== undefined && agent !== defaultAgent;
  return { change: { head: { ...newHead(request, now), ...(isNamed && { agent }) } }, reply: true };
}

/** Name, metadata and ttl decide nothing, so that a thread may have others while a run holds it. */
function decideUpdate(
  request: UpdateThreadRequest,
  { head: before }: Snapshot,
  { texts, now }: Pick<ThreadChangeCallsOptions, 'texts'> & { readonly now: number },
): Decision<true> {
  const { threadId, threadName, dropName, ttlSeconds, dropTtl } = request;
  if (!before || before.deleting) throw notFound(`thread "${threadId}" does not exist`);
  const { name: oldName, metadata: oldMetadata, ttl: oldTtl, ...rest } = before;
  const name = threadName ?? (dropName ? undefined : oldName);
  const ttl = ttlSeconds ?? (dropTtl ? undefined : oldTtl);
  const metadata = metadataAfter(request, before, texts);
  refuseOver(metadata?.byteLength ?? 0, sizes.metadata, ['metadata']);
  if (name === oldName && ttl === oldTtl && isSame(metadata, oldMetadata)) return { reply: true };
  const head: Head = {
    ...rest,
    ...(name === undefined ? {} : { name }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(ttl === undefined ? {} : { ttl }),
    updatedAt: Math.max(before.updatedAt, now),
  };
  return { change: { head }, reply: true };
}

/** Metadata that cannot be read counts as none. */
function metadataAfter(
  { threadId, metadataJson, keepsNulls = false, dropMetadata }: UpdateThreadRequest,
  { metadata }: Head,
  texts: StoredTexts,
): Uint8Array | undefined {
  const kept = dropMetadata ? undefined : metadata;
  if (metadataJson === undefined) return kept;
  const before = kept && texts.read({ threadId, column: 'thread.metadata' }, () => fromJson(kept) as object);
  const entries = new Map<string, unknown>(Object.entries(before ?? {}));
  for (const [key, value] of Object.entries(fromJson(metadataJson) as object)) {
    if (value === null && !keepsNulls) entries.delete(key);
    else entries.set(key, value);
  }
  return toJson(Object.fromEntries(entries));
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && Buffer.compare(a, b) === 0);
