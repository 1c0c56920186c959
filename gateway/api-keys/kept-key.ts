import { newId } from '@agent-workflow/kit/ids';
import { conflict, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { ownerOfKeys } from '@agent-workflow/protos/answerer';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
import { newApiKey } from './api-key.ts';

/** A key as it is on record: without its secret. Times are in milliseconds since 1970. */
export interface KeptKey {
  readonly id: string;
  /** SHA-256 of the secret, in hex. */
  readonly secretHash: string;
  /** The id of the user in whose name it acts. */
  readonly user: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** For people. */
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When it was used, some minutes more or less; absent: not yet. */
  readonly lastUsedAt?: number;
  /** Counts its writes. */
  readonly version: number;
}

/** Keys belong to no user. */
const owner = ownerOfKeys;
const kind = 'api_key';

/** How many keys there may be. */
const maxKeys = 10_000;

const toKept = ({ id, json, createdAt, version }: Resource): KeptKey => ({
  ...(JSON.parse(Buffer.from(json).toString('utf8')) as Omit<KeptKey, 'id' | 'createdAt' | 'version'>),
  ...{ id, createdAt, version },
});

const toJson = ({ id: _id, createdAt: _at, version: _version, ...content }: KeptKey): Uint8Array =>
  Buffer.from(JSON.stringify(content));

type NewKey = Pick<KeptKey, 'user' | 'roles' | 'scopes' | 'name' | 'expiresAt'>;

/** Makes a key. Its text is in the reply alone. @throws Conflict when there are 10,000; Unavailable */
export async function makeKey(
  given: NewKey,
  threads: Pick<ResourceCalls, 'putResource' | 'countResources'>,
  call: () => Call,
): Promise<{ readonly id: string; readonly text: string }> {
  const { count } = await threads.countResources({ kind, owner, atMost: maxKeys }, call());
  if (count >= maxKeys) throw conflict(`there are ${String(maxKeys)} keys, which is the limit: revoke some`);
  const { id, secretHash, text } = newApiKey();
  const key: KeptKey = { ...given, id, secretHash: secretHash.toString('hex'), createdAt: 0, version: 1 };
  await threads.putResource({ kind, owner, id, version: 1, json: toJson(key), attemptId: newId() }, call());
  return { id, text };
}

/** The key with this id; `undefined` when there is none: it was never made, or is revoked. */
export async function getKey(
  id: string,
  threads: Pick<ResourceCalls, 'getResource'>,
  call: Call,
): Promise<KeptKey | undefined> {
  const found = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call));
  return found && toKept(found);
}

/** All keys, the newest first. */
export async function listKeys(
  threads: Pick<ResourceCalls, 'listResources'>,
  call: () => Call,
): Promise<readonly KeptKey[]> {
  const keys: KeptKey[] = [];
  let cursor: string | undefined;
  do {
    const page = { kind, owner, limit: 100, ...(cursor !== undefined && { cursor }) } as const;
    const reply = await threads.listResources(page, call());
    keys.push(...reply.resources.map(toKept));
    ({ cursor } = reply);
  } while (cursor !== undefined);
  return keys.toSorted((one, other) => other.createdAt - one.createdAt);
}

/** A page of ids, in descending order. */
interface IdPage {
  readonly ids: ReadonlySet<string>;
  /** The last id that it speaks of; absent: it is the last page. */
  readonly downTo: string | undefined;
}

/** The ids of all keys, page by page. Each page is a call of its own. */
export async function* listKeyIds(
  threads: Pick<ResourceCalls, 'listResourceMarks'>,
  call: () => Call,
): AsyncGenerator<IdPage> {
  let belowId: string | undefined;
  do {
    const page = { kind, owner, limit: 1000, ...(belowId !== undefined && { belowId }) } as const;
    const { marks, hasMore } = await threads.listResourceMarks(page, call());
    belowId = hasMore ? marks.at(-1)?.id : undefined;
    yield { ids: new Set(marks.map(({ id }) => id)), downTo: belowId };
  } while (belowId !== undefined);
}

/** Removes a key from the record. @returns whether it was there. */
export async function revokeKey(
  id: string,
  threads: Pick<ResourceCalls, 'getResource' | 'deleteResource'>,
  call: () => Call,
): Promise<boolean> {
  for (let attempt = 0; ; attempt += 1) {
    const key = await getKey(id, threads, call());
    if (!key) return attempt > 0;
    try {
      await threads.deleteResource({ kind, owner, id, version: key.version }, call());
      return true;
    } catch (error) {
      // Its use was written down meanwhile.
      if (!isServiceError(error, 'Conflict') || attempt === 9) throw error;
    }
  }
}

/** Writes down that a key was used at this time. @throws Conflict or NotFound when it was written or revoked meanwhile */
export async function noteUse(
  key: KeptKey,
  lastUsedAt: number,
  threads: Pick<ResourceCalls, 'putResource'>,
  call: Call,
): Promise<KeptKey> {
  const next = { ...key, lastUsedAt, version: key.version + 1 };
  await threads.putResource(
    { kind, owner, id: key.id, version: next.version, json: toJson(next), attemptId: newId() },
    call,
  );
  return next;
}
