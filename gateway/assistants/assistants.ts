import { conflict, isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
import { jsonBytes, jsonText } from '../http/json.ts';
import { changeInTurn } from '../upstream/change-in-turn.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What a version of an assistant holds. */
export interface AssistantContent {
  /** Absent: the agent of the thread, for a new thread the default. */
  readonly agent?: string;
  readonly name?: string;
  readonly description?: string;
  readonly metadata: JsonObject;
  /** Stands under the `config` of a run. */
  readonly config: JsonObject;
  /** Stands under the `context` of a run. */
  readonly context: JsonObject;
}

/** An assistant as it is on record, with the version that runs have. */
export interface Assistant extends AssistantContent {
  readonly id: string;
  /** The version that runs have. */
  readonly version: number;
  /** The version that was made last. */
  readonly newestVersion: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One version, as it was made. */
export interface AssistantVersion extends AssistantContent {
  readonly version: number;
  readonly madeAt: number;
}

/**
 * What the record keeps under the id of an assistant: the version that runs have, whole, so that a run reads one object. Every other version
 * that is kept is an object of its own, which is written before this one moves on: it has the same bytes in every attempt.
 */
interface Head {
  readonly content: AssistantContent;
  readonly version: number;
  readonly newest: number;
  /** The first version that is kept. */
  readonly oldest: number;
  /** When the version was made; absent: with this write. */
  readonly madeAt?: number;
  /** The idempotent request that wrote it. */
  readonly by?: string;
  /** Its deletion has begun: for callers it is absent. */
  readonly isDeleted?: true;
}

interface Key {
  readonly owner: string;
  readonly id: string;
}

interface Edit {
  /** The version that the caller has read, where the change depends on it. */
  readonly expected?: number | undefined;
  /** The id of the idempotent request. */
  readonly by?: string | undefined;
}

type Calls = Pick<ResourceCalls, 'getResource' | 'putResource' | 'deleteResource' | 'listResources' | 'countResources'>;
type MakeCall = () => Call;

/** Assistants of one owner (a count). */
const maxAssistants = 1000;

/** Versions of an assistant that are kept (a count). */
const maxVersions = 100;

/** How often a change is tried whose assistant changes meanwhile. */
const attempts = 5;

const kind = 'assistant';

/** The assistant of an owner. @throws NotFound */
export async function getAssistant(threads: Pick<Calls, 'getResource'>, key: Key, call: MakeCall): Promise<Assistant> {
  const { row, head } = await readHead(threads, key, call);
  return toAssistant(row, head);
}

/** Makes an assistant. One of a repeated request is there already. @throws Conflict when the id is taken, or the owner has too many. */
export async function createAssistant(
  threads: Calls,
  { owner, id }: Key,
  {
    content,
    by,
    call,
  }: { readonly content: AssistantContent; readonly by?: string | undefined; readonly call: MakeCall },
): Promise<Assistant> {
  const { count } = await threads.countResources({ owner, kind, atMost: maxAssistants }, call());
  const head: Head = { content, version: 1, newest: 1, oldest: 1, ...(by !== undefined && { by }) };
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call()));
    if (found) {
      const there = headOf(found);
      if (!there.isDeleted && by !== undefined && there.by === by) return toAssistant(found, there);
      if (!there.isDeleted) throw conflict(`assistant "${id}" exists already`);
      await finishRemoval(threads, found, call);
    } else if (count >= maxAssistants) {
      throw conflict(`there are ${String(maxAssistants)} assistants already, which is the limit of one owner`);
    }
    const at = await put(threads, { owner, id, version: 1 }, head, call);
    if (at !== undefined)
      return toAssistant({ kind, owner, id, version: 1, json: jsonBytes(head), createdAt: at, updatedAt: at }, head);
  }
  throw keepsChanging(id);
}

/** Makes a version with what a change gives. A repeated idempotent request makes no second one. */
export async function updateAssistant(
  threads: Calls,
  key: Key,
  {
    change,
    check,
    call,
    ...edit
  }: Edit & {
    /** What changes, of the content that stands there. */
    readonly change: (content: AssistantContent) => Partial<AssistantContent>;
    /** Throws for a content that is too large as a whole. */
    readonly check: (content: AssistantContent) => void;
    readonly call: MakeCall;
  },
): Promise<Assistant> {
  return moveHead(threads, key, { ...edit, call }, async (row, head) => {
    const content = { ...head.content, ...change(head.content) };
    check(content);
    await keepVersion(threads, row, head, call);
    const newest = head.newest + 1;
    const oldest = Math.max(head.oldest, newest - maxVersions + 1);
    for (let version = head.oldest; version < oldest; version++)
      await threads.deleteResource(versionKey(key, version), call());
    return { content, version: newest, newest, oldest };
  });
}

/** Lets runs have another version of those that are kept. @throws NotFound for any other. */
export async function setAssistantVersion(
  threads: Calls,
  key: Key,
  { version, call, ...edit }: Edit & { readonly version: number; readonly call: MakeCall },
): Promise<Assistant> {
  return moveHead(threads, key, { ...edit, call }, async (row, head) => {
    if (version === head.version) return head;
    const { madeAt, content } = await readVersion(threads, key, version, call);
    await keepVersion(threads, row, head, call);
    return { content, version, madeAt, newest: head.newest, oldest: head.oldest };
  });
}

/** A version that is kept. @throws NotFound */
export async function getAssistantVersion(
  threads: Calls,
  key: Key,
  version: number,
  call: MakeCall,
): Promise<AssistantVersion> {
  const { row, head } = await readHead(threads, key, call);
  return versionOf(threads, { row, head }, version, call);
}

/** The versions that are kept, the newest first, below `before`. */
export async function listAssistantVersions(
  threads: Calls,
  key: Key,
  { before, limit, call }: { readonly before?: number | undefined; readonly limit: number; readonly call: MakeCall },
): Promise<{ readonly versions: readonly AssistantVersion[]; readonly hasMore: boolean }> {
  const found = await readHead(threads, key, call);
  const { newest, oldest } = found.head;
  const from = Math.min(newest, (before ?? Infinity) - 1);
  const numbers = Array.from({ length: Math.max(0, Math.min(limit, from - oldest + 1)) }, (_, index) => from - index);
  const versions = await Promise.all(
    numbers.map((version) => undefinedIfNotFound(versionOf(threads, found, version, call))),
  );
  return {
    versions: versions.filter((version) => version !== undefined),
    hasMore: from - numbers.length >= oldest,
  };
}

/** Assistants by id, descending, in a page; `undefined` for one that cannot be read. */
export async function listAssistants(
  threads: Pick<Calls, 'listResources'>,
  page: { readonly owner: string; readonly limit: number; readonly cursor?: string },
  call: MakeCall,
): Promise<{ readonly rows: readonly Resource[]; readonly cursor?: string }> {
  const { resources, cursor } = await threads.listResources({ kind, ...page }, call());
  return { rows: resources, ...(cursor !== undefined && { cursor }) };
}

/** The assistant of a row; `undefined` for one that is being deleted. */
export function assistantOf(row: Resource): Assistant | undefined {
  const head = headOf(row);
  return head.isDeleted ? undefined : toAssistant(row, head);
}

/** Removes an assistant with its versions. It is absent from the first write on; the same request continues a removal that was cut off. */
export async function deleteAssistant(threads: Calls, { owner, id }: Key, call: MakeCall): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const row = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call()));
    if (!row) throw absent(id);
    const head = headOf(row);
    if (head.isDeleted) {
      await finishRemoval(threads, row, call);
      throw absent(id);
    }
    const { newest, oldest } = head;
    const nothing = { metadata: {}, config: {}, context: {} };
    const marked: Head = { content: nothing, version: newest, newest, oldest, isDeleted: true };
    const version = row.version + 1;
    const at = await put(threads, { owner, id, version }, marked, call);
    if (at === undefined) continue;
    await finishRemoval(threads, { ...row, version, json: jsonBytes(marked) }, call);
    return;
  }
  throw keepsChanging(id);
}

const moveHead = (
  threads: Calls,
  key: Key,
  { expected, by, call }: Edit & { readonly call: MakeCall },
  move: (row: Resource, head: Head) => Promise<Head>,
): Promise<Assistant> =>
  changeInTurn({ kind, ...key }, async () => {
    const { row, head } = await readHead(threads, key, call);
    if (by !== undefined && head.by === by) return toAssistant(row, head);
    if (expected !== undefined && expected !== head.version)
      throw conflict(`assistant "${key.id}" has version ${String(head.version)}, and not ${String(expected)}`);
    const { by: _, ...moved } = await move(row, head);
    const next: Head = { ...moved, ...(by !== undefined && { by }) };
    const version = row.version + 1;
    const at = await put(threads, { ...key, version }, next, call);
    return at === undefined ? undefined : toAssistant({ ...row, version, updatedAt: at }, next);
  });

/** Writes the version that the head has as an object of its own. One that is there already is the same. */
async function keepVersion(
  threads: Calls,
  { owner, id, updatedAt }: Resource,
  { content, version, madeAt = updatedAt }: Head,
  call: MakeCall,
): Promise<void> {
  const kept = versionKey({ owner, id }, version);
  const write = threads.putResource({ ...kept, version: 1, json: jsonBytes({ content, madeAt }) }, call());
  await write.catch(ignoreConflict);
}

async function versionOf(
  threads: Calls,
  { row, head }: { readonly row: Resource; readonly head: Head },
  version: number,
  call: MakeCall,
): Promise<AssistantVersion> {
  const { owner, id, updatedAt } = row;
  if (version === head.version) return { ...head.content, version, madeAt: head.madeAt ?? updatedAt };
  const { content, madeAt } = await readVersion(threads, { owner, id }, version, call);
  return { ...content, version, madeAt };
}

interface Kept {
  readonly content: AssistantContent;
  readonly madeAt: number;
}

async function readVersion(threads: Calls, key: Key, version: number, call: MakeCall): Promise<Kept> {
  const row = await undefinedIfNotFound(threads.getResource(versionKey(key, version), call()));
  if (!row) throw notFound(`assistant "${key.id}" has no version ${String(version)}`);
  return JSON.parse(jsonText(row.json)) as Kept;
}

async function finishRemoval(threads: Calls, { owner, id, version, json }: Resource, call: MakeCall): Promise<void> {
  const { newest, oldest } = JSON.parse(jsonText(json)) as Head;
  for (let each = oldest; each <= newest; each++) await threads.deleteResource(versionKey({ owner, id }, each), call());
  await threads.deleteResource({ kind, owner, id, version }, call()).catch(ignoreConflict);
}

/** @returns when it was written; `undefined` where another request came first. */
async function put(
  threads: Calls,
  { owner, id, version }: Key & { readonly version: number },
  head: Head,
  call: MakeCall,
): Promise<number | undefined> {
  try {
    return (await threads.putResource({ kind, owner, id, version, json: jsonBytes(head) }, call())).at;
  } catch (error) {
    if (isServiceError(error, 'Conflict') || (version > 1 && isServiceError(error, 'NotFound'))) return undefined;
    throw error;
  }
}

async function readHead(
  threads: Pick<Calls, 'getResource'>,
  { owner, id }: Key,
  call: MakeCall,
): Promise<{ readonly row: Resource; readonly head: Head }> {
  const row = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call()));
  const head = row && headOf(row);
  if (!row || !head || head.isDeleted) throw absent(id);
  return { row, head };
}

const headOf = ({ json }: Resource): Head => JSON.parse(jsonText(json)) as Head;

const toAssistant = ({ id, createdAt, updatedAt }: Resource, { content, version, newest }: Head): Assistant => ({
  ...content,
  ...{ id, version, newestVersion: newest, createdAt, updatedAt },
});

const versionKey = ({ owner, id }: Key, version: number) =>
  ({ kind: 'assistant_version', owner, id: `${id}/${String(version)}`, version: 1 }) as const;

function ignoreConflict(error: unknown): void {
  if (!isServiceError(error, 'Conflict')) throw error;
}

const absent = (id: string) => notFound(`assistant "${id}" does not exist`);

const keepsChanging = (id: string) => conflict(`assistant "${id}" keeps changing`);
