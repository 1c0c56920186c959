import { randomInt } from 'node:crypto';
import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource } from '@agent-workflow/protos/threads';
import { changeInTurn } from '../upstream/change-in-turn.ts';
import { indexedText } from './indexed-text.ts';
import { toItemId, type ItemPlace } from './item-id.ts';
import { dropNote, noteMemories, settleNote, type ItemParts } from './item-memories.ts';
import {
  contentOf,
  isOver,
  kind,
  readableContent,
  toContentJson,
  toItem,
  type Item,
  type ItemContent,
} from './item.ts';

/** Begins a call to a service, as a request does. */
export type BeginCall = (ms?: number) => Call;

interface OfOwner {
  readonly owner: string;
  readonly call: BeginCall;
}

/** The clock of the record, in milliseconds since 1970: it decides what is over. */
const recordNow = async ({ threads }: Pick<ItemParts, 'threads'>, { owner, call }: OfOwner): Promise<number> =>
  (await threads.listResourceMarks({ kind, owner, limit: 1, belowId: '!' }, call())).now;

const minuteMs = 60_000;

/** What a put gives. */
interface PutItem extends OfOwner, ItemPlace, Pick<ItemContent, 'value' | 'index' | 'ttl'> {}

/** Puts an item in the place of the one that may be there. Where it has a memory, that follows it: now, or as soon as it can be written. */
export async function putItem(parts: ItemParts, put: PutItem): Promise<void> {
  const { value, index = [], ttl } = put;
  const memory = indexedText(value, index) === '' ? undefined : newId();
  const content = { value, ...(memory !== undefined && { index, memory }), ...(ttl !== undefined && { ttl }) };
  await change(
    parts,
    put,
    async (before, now, call) => {
      const dueAt = ttl === undefined ? {} : { dueAt: Math.ceil(now + ttl * minuteMs) };
      const made = before ? { version: before.version + 1 } : { version: firstVersion(now), isNew: true };
      const { owner } = put;
      await parts.threads.putResource(
        { kind, owner, id: toItemId(put), ...made, json: toContentJson(content), ...dueAt },
        call,
      );
    },
    memory,
  );
}

/**
 * The version with which an item is made. One that was removed and made again has none that it had before, so what others have read of it neither
 * removes nor replaces the new one. Where both were made within a millisecond of the record, a chance of 1 in 1,024 is left that it has.
 */
const firstVersion = (now: number): number => Math.ceil(now) * 1024 + randomInt(1024);

/** Removes an item; one that is absent is removed already. */
export const deleteItem = (parts: ItemParts, key: OfOwner & ItemPlace): Promise<void> =>
  change(parts, key, async (before, _now, call) => {
    if (before) await remove(parts, before, call);
  });

const remove = async (
  { threads }: Pick<ItemParts, 'threads'>,
  { owner, id, version }: Resource,
  call: Call,
): Promise<void> => {
  await threads.deleteResource({ kind, owner, id, version }, call);
};

/** Removes an item that is over, as it was listed. @throws Conflict where it was changed meanwhile */
export async function removeOver(parts: ItemParts, before: Resource, now: number, call: Call): Promise<void> {
  const noted = await noting(parts, { ...before, before, now, call }, undefined, () => remove(parts, before, call));
  if (noted) await settle(parts, noted, call);
}

/**
 * Changes an item as it is on record, again where another write comes first. Memories that come or go are noted before the change: so a sweep goes on
 * where this process ends.
 */
async function change(
  parts: ItemParts,
  { owner, call: begin, ...place }: OfOwner & ItemPlace,
  write: (before: Resource | undefined, now: number, call: Call) => Promise<void>,
  memory?: string,
): Promise<void> {
  const id = toItemId(place);
  const now = await recordNow(parts, { owner, call: begin });
  const { noted } = await changeInTurn({ kind, owner, id }, async () => {
    const call = begin();
    const found = await undefinedIfNotFound(parts.threads.getResource({ kind, owner, id }, call));
    try {
      // An item that is over has nothing in common with the one that follows.
      if (found && isOver(found, now)) await removeOver(parts, found, now, call);
      const before = found && isOver(found, now) ? undefined : found;
      return { noted: await noting(parts, { before, owner, id, now, call }, memory, () => write(before, now, call)) };
    } catch (error) {
      if (cameLater(error)) return undefined;
      throw error;
    }
  });
  if (noted) await settle(parts, noted, begin());
}

/** Whether a write was refused because another one came first: the object has another version, or is gone. */
const cameLater = (error: unknown): boolean => isServiceError(error, 'Conflict') || isServiceError(error, 'NotFound');

interface Changing {
  readonly owner: string;
  readonly id: string;
  readonly before: Resource | undefined;
  readonly now: number;
  readonly call: Call;
}

interface Noted {
  readonly key: Parameters<typeof settleNote>[1];
  readonly note: Parameters<typeof settleNote>[2];
}

/** Notes the memories that come or go by a write, and writes. @returns the note; `undefined` where there are none */
async function noting(
  parts: ItemParts,
  { owner, id, before, now, call }: Changing,
  memory: string | undefined,
  write: () => Promise<void>,
): Promise<Noted | undefined> {
  const old = before && readableContent(before)?.memory;
  const memories = [memory, old].filter((one) => one !== undefined);
  if (memories.length === 0) {
    await write();
    return undefined;
  }
  const note = { item: id, memories };
  const key = await noteMemories(parts, { owner, ...note }, now, call);
  try {
    await write();
  } catch (error) {
    // Another write came first, and none of these memories was made by this one.
    if (cameLater(error)) await dropNote(parts, key, call).catch(() => undefined);
    throw error;
  }
  return { key, note };
}

/** Makes the memories of a note as the item says; where that fails, a sweep does it later. */
async function settle(parts: ItemParts, { key, note }: Noted, call: Call): Promise<void> {
  await settleNote(parts, key, note, call).catch((error: unknown) => {
    const { memories } = note;
    parts.log.warn({ err: error, memories }, 'the memory of an item is not as the item says; a sweep tries again');
  });
}

/** An item; `undefined` for one that is absent. `refreshes`: its time to live begins again. */
export async function getItem(
  parts: ItemParts,
  { owner, call, refreshes, ...place }: OfOwner & ItemPlace & { readonly refreshes: boolean },
): Promise<Item | undefined> {
  const found = await undefinedIfNotFound(parts.threads.getResource({ kind, owner, id: toItemId(place) }, call()));
  if (!found) return undefined;
  if (found.dueAt === undefined) return toItem(found);
  const now = await recordNow(parts, { owner, call });
  if (isOver(found, now)) return undefined;
  if (refreshes) await refresh(parts, found, now, call());
  return toItem(found);
}

/** The part of a time to live, and the time in milliseconds, that has to be over before it is begun again: not each read is a write. */
const refreshedShare = 0.05;
const refreshedMs = minuteMs;

/** Lets the time to live of an item begin again. One that is changed at the same time stays as that change makes it. */
export async function refresh({ threads }: ItemParts, found: Resource, now: number, call: Call): Promise<void> {
  const content = contentOf(found);
  if (content.ttl === undefined || found.dueAt === undefined) return;
  const ttlMs = content.ttl * minuteMs;
  const dueAt = Math.ceil(now + ttlMs);
  if (dueAt - found.dueAt < Math.min(refreshedMs, ttlMs * refreshedShare)) return;
  const { owner, id, version, updatedAt } = found;
  const json = toContentJson({ ...content, updatedAt: content.updatedAt ?? updatedAt });
  try {
    await threads.putResource({ kind, owner, id, version: version + 1, json, dueAt }, call);
  } catch (error) {
    if (!cameLater(error)) throw error;
  }
}
