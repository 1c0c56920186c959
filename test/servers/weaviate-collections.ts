import { randomUUID } from 'node:crypto';
import { createWeaviate } from '@agent-workflow/memory/adapters/weaviate/client';
import { openWeaviateMemoryStore } from '@agent-workflow/memory/adapters/weaviate/store';
import type { EmbedderIdentity } from '@agent-workflow/memory/ports/embedder';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';

/** What names of collections of a test of its own begin with. */
export const newPrefix = (): string => `T${randomUUID().replaceAll('-', '')}`;

/** Memories in Weaviate, and when searches of them find everything. */
export type WeaviateTestStore = Awaited<ReturnType<typeof openWeaviateMemoryStore>>;

type WeaviateTestOptions = Partial<Parameters<typeof openWeaviateMemoryStore>[0]> & {
  readonly url: string;
  readonly embedder: EmbedderIdentity;
};

/** A store on collections of its own, which are dropped with it unless `prefix` says whose they are. */
export async function openTestStore({ prefix, ...options }: WeaviateTestOptions): Promise<WeaviateTestStore> {
  const own = prefix ?? newPrefix();
  const store = await openWeaviateMemoryStore({ requestTimeoutMs: 20_000, idleMs: 600_000, prefix: own, ...options });
  return {
    ...store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      if (prefix === undefined) await dropCollections(options.url, own);
    },
  };
}

/** Removes every collection whose name begins so. */
export async function dropCollections(url: string, prefix: string): Promise<void> {
  const weaviate = await createWeaviate({ url, requestTimeoutMs: 20_000 });
  const names = await weaviate.listCollections();
  for (const name of names.filter((each) => each.startsWith(prefix))) await weaviate.dropCollection(name);
}

/**
 * Many stores in one, because making collections takes long: each is empty at first and sees its own owners alone. Disposal of the
 * last thing that uses it is up to whoever opened `store`.
 */
export function partOf(store: MemoryStore): MemoryStore {
  const scope = `${randomUUID()}/`;
  const inside = (owner: string): string => `${scope}${owner}`;
  return {
    put: async (owner, memory) => store.put(inside(owner), memory),
    update: async (owner, memoryId, change, request) => store.update(inside(owner), memoryId, change, request),
    findUpdated: async (owner, request) => store.findUpdated(inside(owner), request),
    get: async (owner, memoryIds) => store.get(inside(owner), memoryIds),
    remove: async (owner, memoryIds, request) => store.remove(inside(owner), memoryIds, request),
    list: async (query) => store.list({ ...query, owner: inside(query.owner) }),
    findByVector: async (query) => store.findByVector({ ...query, owner: inside(query.owner) }),
    findByKeywords: async (query) => store.findByKeywords({ ...query, owner: inside(query.owner) }),
    removeExpired: async (at, onFailure) => store.removeExpired(at, onFailure),
    incompleteSince: () => store.incompleteSince(),
    scan: async function* () {
      for await (const { owner, memory } of store.scan()) {
        if (owner.startsWith(scope)) yield { owner: owner.slice(scope.length), memory };
      }
    },
    load: async (memories) => store.load(memories.map(({ owner, memory }) => ({ owner: inside(owner), memory }))),
    [Symbol.asyncDispose]: async () => Promise.resolve(),
  };
}
