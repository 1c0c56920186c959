import { conflict, isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
import { jsonBytes, jsonText } from '../http/json.ts';
import { changeInTurn } from '../upstream/change-in-turn.ts';
import type { TriggerFormat } from './signatures.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What the owner says of a trigger. */
export interface TriggerContent {
  readonly name?: string;
  readonly format: TriggerFormat;
  readonly enabled: boolean;
  /** The types of events that start a run; absent: all. */
  readonly events?: readonly string[];
  /** The text of the user's message; absent: the body of the event. */
  readonly message?: string;
  /** The `config` of its runs. */
  readonly config: JsonObject;
  /** The `context` of its runs, to which the event is added. */
  readonly context: JsonObject;
}

/** A key by which events are signed. Of several, those before the newest count until a time. */
interface Secret {
  readonly text: string;
  /** In milliseconds since 1970; absent for the newest. */
  readonly until?: number;
}

/** A trigger as it is on record, with what is shown to nobody. */
export interface Trigger extends TriggerContent {
  readonly id: string;
  readonly owner: string;
  /** The user context of the owner when the trigger was made or changed last: its runs have it. */
  readonly user?: JsonObject;
  readonly secrets: readonly Secret[];
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

type Stored = Omit<Trigger, 'id' | 'owner' | 'version' | 'createdAt' | 'updatedAt'>;

interface Key {
  readonly owner: string;
  readonly id: string;
}

type Calls = Pick<ResourceCalls, 'getResource' | 'putResource' | 'deleteResource' | 'listResources' | 'countResources'>;
type MakeCall = () => Call;

const kind = 'trigger';

/** Triggers of one owner (a count). */
const maxTriggers = 100;

/** Secrets of a trigger that count beside each other (a count). */
const maxSecrets = 3;

const attempts = 5;

/** Makes a trigger, and then its address: by its id alone its owner is found. @throws Conflict when the owner has too many. */
export async function createTrigger(
  threads: Calls,
  { owner, id }: Key,
  stored: Stored,
  call: MakeCall,
): Promise<Trigger> {
  const { count } = await threads.countResources({ owner, kind, atMost: maxTriggers }, call());
  if (count >= maxTriggers)
    throw conflict(`there are ${String(maxTriggers)} triggers already, which is the limit of one owner`);
  const { at } = await threads.putResource({ kind, owner, id, version: 1, json: jsonBytes(stored) }, call());
  await threads.putResource({ ...addressOf(id), version: 1, json: jsonBytes({ owner }) }, call());
  return { ...stored, owner, id, version: 1, createdAt: at, updatedAt: at };
}

/** @throws NotFound */
export async function getTrigger(
  threads: Pick<Calls, 'getResource'>,
  { owner, id }: Key,
  call: MakeCall,
): Promise<Trigger> {
  const row = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call()));
  if (!row) throw absent(id);
  return triggerOf(row);
}

/** The trigger of an address, of any owner; `undefined` when there is none. */
export async function findTrigger(
  threads: Pick<Calls, 'getResource'>,
  id: string,
  call: MakeCall,
): Promise<Trigger | undefined> {
  const address = await undefinedIfNotFound(threads.getResource(addressOf(id), call()));
  if (!address) return undefined;
  const { owner } = JSON.parse(jsonText(address.json)) as { readonly owner: string };
  return undefinedIfNotFound(getTrigger(threads, { owner, id }, call));
}

export async function listTriggers(
  threads: Pick<Calls, 'listResources'>,
  page: { readonly owner: string; readonly limit: number; readonly cursor?: string },
  call: MakeCall,
): Promise<{ readonly rows: readonly Resource[]; readonly cursor?: string }> {
  const { resources, cursor } = await threads.listResources({ kind, ...page }, call());
  return { rows: resources, ...(cursor !== undefined && { cursor }) };
}

export const triggerOf = ({ json, owner, id, version, createdAt, updatedAt }: Resource): Trigger => ({
  ...(JSON.parse(jsonText(json)) as Stored),
  ...{ owner, id, version, createdAt, updatedAt },
});

/** Changes a trigger; changes at the same time all count. @throws NotFound */
export const updateTrigger = (
  threads: Calls,
  key: Key,
  change: (trigger: Trigger) => Stored,
  call: MakeCall,
): Promise<Trigger> =>
  changeInTurn({ kind, ...key }, async () => {
    const found = await getTrigger(threads, key, call);
    const stored = change(found);
    const version = found.version + 1;
    try {
      const { at } = await threads.putResource({ kind, ...key, version, json: jsonBytes(stored) }, call());
      return { ...stored, ...key, version, createdAt: found.createdAt, updatedAt: at };
    } catch (error) {
      if (isServiceError(error, 'Conflict') || isServiceError(error, 'NotFound')) return undefined;
      throw error;
    }
  });

/** The secrets with a new one, beside which those before it count until a time. */
export const rotated = (secrets: readonly Secret[], text: string, until: number, now: number): readonly Secret[] => [
  { text },
  ...countingAt(secrets, now)
    .filter((secret) => secret.text !== text && until > now)
    .map((secret) => ({ text: secret.text, until: Math.min(until, secret.until ?? until) }))
    .slice(0, maxSecrets - 1),
];

/** The secrets that count now. */
export const countingAt = (secrets: readonly Secret[], now: number): readonly Secret[] =>
  secrets.filter(({ until }) => until === undefined || now < until);

/** Removes a trigger, first its address: from then on no event is taken. @throws NotFound */
export async function deleteTrigger(threads: Calls, { owner, id }: Key, call: MakeCall): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { version } = await getTrigger(threads, { owner, id }, call);
    await threads.deleteResource({ ...addressOf(id), version: 1 }, call());
    try {
      await threads.deleteResource({ kind, owner, id, version }, call());
      return;
    } catch (error) {
      if (!isServiceError(error, 'Conflict')) throw error;
    }
  }
  throw conflict(`trigger "${id}" keeps changing`);
}

/** Where the owner of a trigger stands. No owner of anything else has such a key: theirs are `anon`, or begin with `u:`. */
const addressOf = (id: string) => ({ kind, owner: `trigger:${id}`, id }) as const;

const absent = (id: string) => notFound(`trigger "${id}" does not exist`);
