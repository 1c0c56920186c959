import type { EndedCall } from './ended-calls.ts';
import { isObject, textOf, type JsonObject } from './given-json.ts';
import { addMembers, type KeptMembers } from './kept-members.ts';

/** A tool call as far as it has come. */
interface CallDraft {
  id: string;
  name: string;
  /** The arguments as text. */
  json: string;
  /** Arguments that came as a value. */
  value: unknown;
  /** How far `json` is. */
  readonly scan: JsonScan;
  readonly kept: KeptMembers;
}

/** Where a reader of JSON text stands: whether the first object or list is closed. */
interface JsonScan {
  depth: number;
  isText: boolean;
  isEscaped: boolean;
  isClosed: boolean;
}

/** The tool calls of an answer, in the order of their first chunks. */
export interface CallDrafts {
  readonly list: CallDraft[];
  readonly byId: Map<string, CallDraft>;
  readonly byIndex: Map<unknown, CallDraft>;
}

export const noCalls = (): CallDrafts => ({ list: [], byId: new Map(), byIndex: new Map() });

interface CallChunk {
  /** Empty where there is none. */
  readonly id: string;
  readonly index: unknown;
  readonly name: string;
  readonly args: unknown;
  readonly members: JsonObject;
}

/**
 * Adds the chunks of one event; gives how many characters they hold. Servers repeat the id and the name in every chunk, write an empty id or another
 * one, leave the index out, or give every call the same one: a chunk that names a tool begins a call unless it repeats one that is open, and any
 * other continues a call.
 */
export function addCalls(drafts: CallDrafts, given: readonly JsonObject[]): number {
  let characters = 0;
  for (const [place, entry] of given.entries()) {
    const chunk = readCallChunk(entry);
    if (isEmpty(chunk)) continue;
    const draft = draftOf(drafts, chunk, given.length - place) ?? begin(drafts, chunk);
    if (chunk.index !== undefined) drafts.byIndex.set(chunk.index, draft);
    if (chunk.id !== '') drafts.byId.set(chunk.id, draft);
    characters += extend(draft, chunk);
  }
  return characters;
}

const isEmpty = ({ id, name, args, members }: CallChunk): boolean =>
  id === '' && name === '' && (args ?? '') === '' && Object.keys(members).length === 0;

function readCallChunk(given: JsonObject): CallChunk {
  const { id, index, type: _, function: inner, ...others } = given;
  const { name, arguments: args, ...innerOthers } = isObject(inner) ? inner : others;
  const text = textOf(id);
  return {
    // Mistral spells none as a word.
    id: text === 'null' ? '' : text,
    index: index ?? undefined,
    name: textOf(name),
    args,
    members: isObject(inner) ? membersOf(others, innerOthers) : innerOthers,
  };
}

const membersOf = (others: JsonObject, inner: JsonObject): JsonObject =>
  Object.keys(inner).length === 0 ? others : { ...others, function: inner };

/** The call that a chunk continues; `fromEnd` is its place among those of its event, counted from the last. */
function draftOf({ list, byId, byIndex }: CallDrafts, chunk: CallChunk, fromEnd: number): CallDraft | undefined {
  const { id, index, name } = chunk;
  const ofId = id === '' ? undefined : byId.get(id);
  const ofIndex = index === undefined ? undefined : byIndex.get(index);
  if (name === '') return ofId ?? ofIndex ?? (index === undefined ? list.at(-fromEnd) : undefined);
  const draft = ofId ?? ofIndex ?? (index === undefined && id === '' ? list.at(-1) : undefined);
  if (!draft || (id !== '' && draft.id !== '' && draft.id !== id)) return undefined;
  const isPlaced = ofId !== undefined || ofIndex !== undefined;
  return continues(draft, chunk, isPlaced) ? draft : undefined;
}

/** Whether a chunk that names a tool belongs to a call that has begun. */
function continues(draft: CallDraft, { name, args }: CallChunk, isPlaced: boolean): boolean {
  const hasArgs = draft.json !== '' || draft.value !== undefined;
  const bringsArgs = args !== undefined && args !== null && args !== '';
  if (draft.name === name) return !bringsArgs || !isClosed(draft) || isSame(draft, args);
  return draft.name === '' || (isPlaced && !hasArgs);
}

const isClosed = ({ value, scan }: CallDraft): boolean => value !== undefined || scan.isClosed;

/** Whether a whole call is repeated, as some servers do at the end. */
const isSame = ({ json, value }: CallDraft, args: unknown): boolean =>
  typeof args === 'string' ? args === json : JSON.stringify(args) === JSON.stringify(value);

function begin({ list }: CallDrafts, { id }: CallChunk): CallDraft {
  const scan: JsonScan = { depth: 0, isText: false, isEscaped: false, isClosed: false };
  const draft: CallDraft = { id, name: '', json: '', value: undefined, scan, kept: { members: {}, characters: 0 } };
  list.push(draft);
  return draft;
}

function extend(draft: CallDraft, { id, name, args, members }: CallChunk): number {
  draft.id ||= id;
  // A name comes whole, and again in each chunk, or in parts.
  if (name !== draft.name) draft.name = name.startsWith(draft.name) ? name : draft.name + name;
  const characters = name.length + addMembers(draft.kept, members);
  if (typeof args !== 'string') {
    if (args !== undefined && args !== null) draft.value = args;
    return characters + (isObject(args) || Array.isArray(args) ? JSON.stringify(args).length : 0);
  }
  if (draft.scan.isClosed && isSame(draft, args)) return characters;
  // Some proxies write the empty input with which a call of Anthropic begins.
  if (draft.json === '{}' && args.trim() !== '') restart(draft);
  scanJson(draft.scan, args);
  draft.json += args;
  return characters + args.length;
}

function restart(draft: CallDraft): void {
  draft.json = '';
  draft.scan.isClosed = false;
}

function scanJson(scan: JsonScan, text: string): void {
  for (const character of text) {
    if (scan.isText) {
      if (scan.isEscaped) scan.isEscaped = false;
      else if (character === '\\') scan.isEscaped = true;
      else if (character === '"') scan.isText = false;
    } else if (character === '"') scan.isText = true;
    else if (character === '{' || character === '[') scan.depth++;
    else if ((character === '}' || character === ']') && --scan.depth === 0) scan.isClosed = true;
  }
}

/** The calls as they stand when the answer has ended. */
export const endedCalls = ({ list }: CallDrafts, source: string): EndedCall[] =>
  list.map(({ id, name, json, value, kept: { members } }) => ({
    ...{ id, name, args: value ?? json },
    ...(Object.keys(members).length > 0 && { provider_data: { source, members } }),
  }));
