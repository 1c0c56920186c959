import { randomUUID } from 'node:crypto';
import { pageBytes } from '@agent-workflow/kit/pages';
import { pause } from '@agent-workflow/kit/retry';
import type { ResourceRecords } from '../ports/resources.ts';
import { toJson } from '../record/json.ts';

/** Which owners have webhooks, as this process knows: the end of a run costs no read to find that out. */
export interface WebhookOwners {
  /** Also of an owner that had webhooks once, and of every owner while that is not known: then an entry of the outbox is made for nobody. */
  readonly has: (owner: string) => boolean;
  /** Resolves when every replica knows that the owner has webhooks. */
  readonly add: (owner: string) => Promise<void>;
  /** Reads what other replicas have added. */
  readonly refresh: () => Promise<void>;
}

/** No owner is named so: under this one the record keeps the list of the others. */
const all = '*';
const counter = { kind: 'webhook', owner: all, id: all } as const;

/** How old the list may be that replicas go by, in milliseconds; they refresh it twice as often. */
const keptMs = 2000;
export const refreshMs = 1000;

const pageLimit = 1000;
const addAttempts = 10;

/** `isShared`: whether other processes add owners; then the list is refreshed by the process that opens it. */
export function createWebhookOwners(
  store: ResourceRecords,
  { now, isShared = false }: { readonly now: () => number; readonly isShared?: boolean },
): WebhookOwners {
  let owners: ReadonlySet<string> | undefined;
  let readAt = -Infinity;
  let version = 0;

  const refresh = async (): Promise<void> => {
    const began = performance.now();
    const found = (await store.getResource(counter))?.version ?? 0;
    if (found !== version || owners === undefined) owners = await readOwners(store);
    version = found;
    readAt = began;
  };

  const put = async (id: string): Promise<void> => {
    const write = { ...counter, at: now(), attempt: randomUUID(), json: toJson({}) };
    if (id !== all) await store.putResource({ ...write, id, version: 1 });
    for (let attempt = 0; id === all && attempt < addAttempts; attempt++) {
      const before = (await store.getResource(counter))?.version ?? 0;
      if ((await store.putResource({ ...write, version: before + 1 })) !== undefined) return;
    }
  };

  return {
    has: (owner) => {
      if (isShared && performance.now() - readAt > keptMs) return true;
      return owners?.has(owner) === true;
    },
    add: async (owner) => {
      if (owners === undefined) await refresh();
      if (owners?.has(owner) === true) return;
      await put(owner);
      await put(all);
      await refresh();
      if (isShared) await pause(keptMs);
    },
    refresh,
  };
}

async function readOwners(store: ResourceRecords): Promise<ReadonlySet<string>> {
  const owners = new Set<string>();
  for (let after: string | undefined; ;) {
    const rows = await store.listResources(counter, { limit: pageLimit, bytes: pageBytes, after });
    for (const { id } of rows) owners.add(id);
    after = rows.at(-1)?.id;
    if (after === undefined) return owners;
  }
}
