import { every } from '@agent-workflow/kit/life';
import { unavailable } from '@agent-workflow/kit/errors';
import type { EmbedderIdentity } from '../../ports/embedder.ts';
import type { MemoryStore } from '../../ports/store.ts';
import { createBackup } from './backup.ts';
import { createWeaviate } from './client/client.ts';
import type { Scope, WeaviateConnection } from './client/weaviate.ts';
import { missesKeywords } from './client/server-version.ts';
import { openChanges } from './records/changes.ts';
import { openExpiries } from './records/expiries.ts';
import { openRequests } from './records/idempotency.ts';
import { openMarks } from './marks/marks.ts';
import { tenantOf } from './objects/objects.ts';
import { openPresence } from './marks/presence.ts';
import { createRecords } from './records/records.ts';
import { openSchema } from './objects/schema.ts';
import { findByKeywords, findByVector } from './search.ts';
import { createTenants } from './objects/tenants.ts';
import { openWatch, type Watch } from './repair/watch.ts';
import { queryTermsOf } from '../../words/terms.ts';

interface WeaviateMemoryStoreOptions extends WeaviateConnection {
  /** The prefix of the names of the service's collections: a capital, then letters and digits. */
  readonly prefix: string;
  /** Whose vectors the collection holds. */
  readonly embedder: EmbedderIdentity;
  /** After this time without use an owner's memories leave Weaviate's memory. */
  readonly idleMs: number;
  /** Is called after every check of the index, with the number of memories that were put again. */
  readonly onRepair?: (count: number) => void;
  /** Is called with each failure in the background. */
  readonly onFailure?: (error: unknown) => void;
  /** Is called at the start with the version of a server whose searches by keywords miss memories. */
  readonly onOldServer?: (version: string) => void;
}

interface WeaviateMemoryStore extends MemoryStore {
  /** Resolves when searches find everything. */
  readonly untilComplete: Watch['untilComplete'];
}

/** How often idle tenants are deactivated, and what has expired is deleted. */
const cleanEveryMs = 60_000;
/** Readers read all announcements of an owner, so they are deleted soon. */
const expireChangesMs = 10_000;

/**
 * Memories in Weaviate: one collection, a tenant for each owner. The nearest are exact, except by Manhattan distance; the README says
 * what is promised and what is not.
 * @throws Unavailable when Weaviate cannot be reached, or its memories are being copied.
 * @throws ConfigError when it holds memories of another embedder or with other keywords, or no version that this release reads.
 */
export async function openWeaviateMemoryStore(options: WeaviateMemoryStoreOptions): Promise<WeaviateMemoryStore> {
  const { prefix, embedder, idleMs, onRepair = () => undefined, onFailure = () => undefined } = options;
  await using opened = new AsyncDisposableStack();
  let suspect = (): void => undefined;
  const weaviate = await createWeaviate({
    ...options,
    onFailure: () => {
      suspect();
    },
  });
  const version = await weaviate.readVersion();
  if (version !== undefined && missesKeywords(version)) options.onOldServer?.(version);
  const marks = await openMarks(weaviate, `${prefix}Marks`);
  const presence = await openPresence(marks, 'serving', { unless: ['copying'], onFailure });
  if (!presence) throw unavailable('the memories are being copied');
  opened.use(presence);
  const { collection } = await openSchema({ weaviate, marks, prefix, embedder });
  const changes = await openChanges(weaviate, `${prefix}Changes`);
  opened.use(every(expireChangesMs, changes.expire, onFailure));
  const reads = { weaviate, changes, onUnreadable: onFailure };
  const watch = opened.use(await openWatch({ reads, marks, collection, onRepair, onFailure }));
  ({ suspect } = watch);
  const { use, deactivateIdle } = createTenants({ weaviate, collection, idleMs });
  opened.use(every(Math.min(idleMs, cleanEveryMs), deactivateIdle, onFailure));
  const expiries = await openExpiries(weaviate, `${prefix}Expiries`);
  const requests = await openRequests({ weaviate, collection: `${prefix}Requests` });
  opened.use(every(cleanEveryMs, requests.expire, onFailure));

  const within = async <T>(owner: string, work: (scope: Scope) => Promise<T>): Promise<T> =>
    use(tenantOf(owner), () => work({ collection, tenant: tenantOf(owner) }));
  const everything = opened.move();
  return {
    ...createRecords({ reads, locks: marks, requests, expiries, collection, use }),
    ...createBackup({ reads, expiries, collection, use }),
    findByVector: async (query) => within(query.owner, async (scope) => findByVector(reads, scope, query)),
    findByKeywords: async (query) =>
      within(query.owner, async (scope) => findByKeywords(reads, scope, query, queryTermsOf(query.text))),
    incompleteSince: watch.incompleteSince,
    untilComplete: watch.untilComplete,
    [Symbol.asyncDispose]: async () => everything.disposeAsync(),
  };
}
