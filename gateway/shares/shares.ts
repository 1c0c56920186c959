import { conflict, isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
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

/** Makes a share, and what leads its recipients to it. @throws Conflict when the owner has too many */
export async function createShare(
  threads: Calls,
  { owner, id }: ShareKey,
  content: ShareContent,
  call: MakeCall,
): Promise<Share> {
  const { count } = await threads.countResources({ owner, kind, atMost: maxShares }, call());
  if (count >= maxShares)
    throw conflict(`there are ${String(maxShares)} shares already, which is the limit of one owner`);
  const { at } = await threads.putResource({ kind, owner, id, version: 1, json: jsonBytes(content) }, call());
  await threads.putResource(
    { kind: pointer, owner: listOf(content.to), id, version: 1, json: jsonBytes({ owner }) },
    call(),
  );
  return { ...content, owner, id, createdAt: at };
}

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
  const found = await Promise.all(
    resources.map(async ({ id, json, version }) => {
      const { owner } = JSON.parse(jsonText(json)) as { readonly owner: string };
      const row = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call()));
      if (!row) await threads.deleteResource({ kind: pointer, owner: listOf(to), id, version }, call());
      return row ? [row] : [];
    }),
  );
  return { rows: found.flat(), ...(cursor !== undefined && { cursor }) };
}

/** Ends a share. @throws NotFound */
export async function deleteShare(threads: Calls, key: ShareKey, call: MakeCall): Promise<void> {
  const share = await findShare(threads, key, call());
  if (!share) throw notFound('there is no such share');
  await threads.deleteResource({ kind, ...key, version: 1 }, call());
  await threads
    .deleteResource({ kind: pointer, owner: listOf(share.to), id: key.id, version: 1 }, call())
    .catch((error: unknown) => {
      // A list of what is shared removes it.
      if (!isServiceError(error)) throw error;
    });
}

/** Under what owner the record lists the shares of a recipient: no user has such a key. */
const listOf = (to: Recipient): string =>
  'everybody' in to ? 'share:everybody' : 'user' in to ? `share:user:${to.user}` : `share:role:${to.role}`;
