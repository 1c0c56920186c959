import { eachOf } from '@agent-workflow/kit/each';
import { conflict, isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { Recipient } from '../access/rules.ts';
import { jsonBytes, jsonText } from '../http/json.ts';
import { shareOf, type Share, type ShareContent, type ShareKey } from './share.ts';

type Calls = Pick<ResourceCalls, 'getResource' | 'putResource' | 'deleteResource' | 'listResources' | 'countResources'>;
type MakeCall = () => Call;

const kind = 'share';
/** What leads from a recipient to their shares. It is made after the share and goes before it. */
const pointer = 'shared_with';

/** Shares of one owner (a count). */
const maxShares = 1000;

/** Makes a share, and what leads its recipients to it. @throws Conflict when the owner has too many that have not ended */
export async function createShare(
  threads: Calls & Pick<ThreadReadCalls, 'getThread'>,
  { owner, id }: ShareKey,
  content: ShareContent,
  call: MakeCall,
): Promise<Share> {
  if (await isFull(threads, owner, call)) await removeEnded(threads, owner, call);
  if (await isFull(threads, owner, call))
    throw conflict(`there are ${String(maxShares)} shares already, which is the limit of one owner`);
  const made = { kind, owner, id, version: 1, json: jsonBytes(content), attemptId: id } as const;
  const { at } = await threads.putResource(made, call());
  const leading = { kind: pointer, owner: listOf(content.to), json: jsonBytes({ owner }) } as const;
  await threads.putResource({ ...leading, id, version: 1, attemptId: id }, call());
  return { ...content, owner, id, createdAt: at };
}

const isFull = async (threads: Pick<Calls, 'countResources'>, owner: string, call: MakeCall): Promise<boolean> =>
  (await threads.countResources({ owner, kind, atMost: maxShares }, call())).count >= maxShares;

/** `undefined` where there is none. */
export async function findShare(
  threads: Pick<Calls, 'getResource'>,
  { owner, id }: ShareKey,
  call: Call,
): Promise<Share | undefined> {
  const row = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call));
  return row && shareOf(row);
}

interface Page {
  readonly limit: number;
  readonly cursor?: string;
}

interface Rows {
  readonly rows: readonly Resource[];
  readonly cursor?: string;
}

/** The shares of all threads of an owner, the newest first. */
export async function listShares(
  threads: Pick<Calls, 'listResources'>,
  page: Page & { readonly owner: string },
  call: MakeCall,
): Promise<Rows> {
  const { resources, cursor } = await threads.listResources({ kind, ...page }, call());
  return { rows: resources, ...(cursor !== undefined && { cursor }) };
}

/** The shares of a recipient, the newest first. One that has gone is left out, and what leads to it removed. */
export async function listSharesWith(
  threads: Pick<Calls, 'listResources' | 'getResource' | 'deleteResource'>,
  { to, ...page }: Page & { readonly to: Recipient },
  call: MakeCall,
): Promise<Rows> {
  const { resources, cursor } = await threads.listResources({ kind: pointer, owner: listOf(to), ...page }, call());
  const found = new Map<string, Resource>();
  await eachOf(resources, readAtOnce, async ({ id, json, version }) => {
    const owner = ownerIn(json);
    const row = owner && (await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call())));
    if (row) found.set(id, row);
    else await threads.deleteResource({ kind: pointer, owner: listOf(to), id, version }, call());
  });
  const rows = resources.flatMap(({ id }) => found.get(id) ?? []);
  return { rows, ...(cursor !== undefined && { cursor }) };
}

/** Shares that are read at the same time. */
const readAtOnce = 16;

/** The owner that a pointer leads to; `undefined` for what is no pointer. */
function ownerIn(json: Uint8Array): string | undefined {
  try {
    const { owner } = JSON.parse(jsonText(json)) as { readonly owner?: unknown };
    return typeof owner === 'string' ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Ends a share, also one that cannot be read. @throws NotFound for one that is absent, or of another thread */
export async function deleteShare(
  threads: Calls,
  { threadId, ...key }: ShareKey & { readonly threadId: string },
  call: MakeCall,
): Promise<void> {
  const row = await undefinedIfNotFound(threads.getResource({ kind, ...key }, call()));
  const share = row && readable(row);
  if (!row || (share && share.threadId !== threadId)) throw notFound('there is no such share');
  await threads.deleteResource({ kind, ...key, version: row.version }, call());
  // What leads recipients to a share that has gone is removed where they list their shares.
  if (!share) return;
  const leading = { kind: pointer, owner: listOf(share.to), id: key.id, version: 1 } as const;
  await threads.deleteResource(leading, call()).catch((error: unknown) => {
    if (!isServiceError(error)) throw error;
  });
}

/** Removes the shares of an owner that have ended, and those of threads that are there no longer. */
async function removeEnded(threads: Calls & Pick<ThreadReadCalls, 'getThread'>, owner: string, call: MakeCall) {
  let cursor: string | undefined;
  do {
    const page = await listShares(threads, { owner, limit: 100, ...(cursor !== undefined && { cursor }) }, call);
    await eachOf(page.rows, readAtOnce, async (row) => {
      const share = readable(row);
      const { threadId = '', threadCreatedAt, until = Infinity } = share ?? {};
      const thread = share && (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call())));
      if (share && thread?.createdAt === threadCreatedAt && Date.now() < until) return;
      await deleteShare(threads, { owner, id: row.id, threadId }, call).catch((error: unknown) => {
        if (!isServiceError(error)) throw error;
      });
    });
    ({ cursor } = page);
  } while (cursor !== undefined);
}

function readable(row: Resource): Share | undefined {
  try {
    return shareOf(row);
  } catch {
    return undefined;
  }
}

/** Under what owner the record lists the shares of a recipient: no user has such a key. */
const listOf = (to: Recipient): string =>
  'everybody' in to ? 'share:everybody' : 'user' in to ? `share:user:${to.user}` : `share:role:${to.role}`;
