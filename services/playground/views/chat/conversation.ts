import type { Block, Interrupt, Message } from '@agent-workflow/client';
import { isCall, textAt, withThoughtsJoined } from './blocks.ts';
import type { RunState } from './run-state.ts';

/** A message on the page: one of the log, or one that a run is streaming. It changes in place, and `revision` with it. */
export interface Entry {
  readonly id: string;
  readonly role: Message['role'];
  blocks: readonly Block[];
  timestamp: string;
  /** The checkpoint of the step that committed it, where the service says so. */
  checkpointId: string | undefined;
  /** `streaming` until its end has come; `cut` when its run ended before; `dropped` when the log does not have it then. */
  state: 'streaming' | 'cut' | 'whole' | 'dropped';
  /** Who has sent it by a share of the thread; absent: its owner. */
  sender: string | undefined;
  /** Whether it is what a run had said that was stopped. */
  isPartial: boolean;
  /** The run, step and node that stream it. */
  readonly origin?: Origin;
  /** The questions that came after it and were answered on this page: the record does not give answers. */
  answered?: readonly AnsweredQuestion[];
  revision: number;
}

export interface AnsweredQuestion {
  readonly interrupt: Interrupt;
  readonly answer: unknown;
}

export interface Origin {
  readonly runId: string;
  readonly step: unknown;
  readonly node: unknown;
}

/** A call of a tool: what is called, and the message that calls. */
interface ToolCall {
  readonly name: string;
  readonly entry: Entry;
  /** When it was made, as ISO 8601. */
  readonly at: string;
}

/** What a call gave. */
interface ToolResult {
  readonly block: Block;
  /** When it was there, as ISO 8601. */
  readonly at: string;
}

/** The messages of a thread in their order, and its run. Events change it in place: a chunk costs the same however long it is. */
export interface Conversation {
  readonly entries: Entry[];
  readonly byId: Map<string, Entry>;
  /** The calls of tools by their ids. */
  readonly calls: Map<string, ToolCall>;
  /** What they gave, by the same ids. */
  readonly results: Map<string, ToolResult>;
  /** The messages after which questions were asked, by the ids of the questions. */
  readonly places: Map<string, Entry>;
  run: RunState | undefined;
}

export const emptyConversation = (): Conversation => ({
  entries: [],
  byId: new Map(),
  calls: new Map(),
  results: new Map(),
  places: new Map(),
  run: undefined,
});

/** A message as lists give it: most name the checkpoint that they came with. */
export type LoggedMessage = Message & { readonly checkpoint_id?: string };

const senderOf = ({ metadata }: LoggedMessage): string | undefined =>
  typeof metadata?.['sender'] === 'string' ? metadata['sender'] : undefined;

const isPartial = ({ metadata }: LoggedMessage): boolean => metadata?.['partial'] === true;

function addEntry(conversation: Conversation, message: LoggedMessage): Entry {
  const entry: Entry = {
    id: message.message_id,
    role: message.role,
    blocks: withThoughtsJoined(message.content),
    timestamp: message.timestamp,
    checkpointId: message.checkpoint_id,
    state: 'whole',
    sender: senderOf(message),
    isPartial: isPartial(message),
    revision: 0,
  };
  conversation.byId.set(entry.id, entry);
  noteTools(conversation, entry, entry.blocks);
  return entry;
}

/** Puts the whole message in the place of what is there. */
export function replaceEntry(conversation: Conversation, entry: Entry, message: LoggedMessage): void {
  entry.blocks = withThoughtsJoined(message.content);
  entry.timestamp = message.timestamp;
  entry.checkpointId = message.checkpoint_id ?? entry.checkpointId;
  entry.state = 'whole';
  entry.sender = senderOf(message);
  entry.isPartial = isPartial(message);
  entry.revision++;
  noteTools(conversation, entry, message.content);
}

/** Notes the calls of tools in blocks of a message, and their results, which are drawn where the call is. */
export function noteTools(
  { calls, results }: Conversation,
  entry: Entry,
  blocks: readonly Block[],
  at = entry.timestamp,
): void {
  for (const block of blocks) {
    if (isCall(block)) calls.set(textAt(block, 'id'), { name: textAt(block, 'name'), entry, at });
    if (block.type !== 'tool_result') continue;
    const id = textAt(block, 'call_id');
    results.set(id, { block, at });
    const caller = calls.get(id)?.entry;
    if (caller) caller.revision++;
  }
}

/** Whether a message is drawn by itself: results of tools stand at the calls that they are of. */
export const isShown = ({ calls }: Conversation, { role, blocks }: Entry): boolean =>
  role !== 'tool' || !blocks.every((block) => block.type === 'tool_result' && calls.has(textAt(block, 'call_id')));

/** Notes after which message the open questions stand. One that is asked again by a later run keeps its place. */
export function placeQuestions({ run, entries, places }: Conversation): void {
  const last = entries.at(-1);
  for (const { id } of run?.interrupts ?? []) if (last && !places.has(id)) places.set(id, last);
}

/** Notes the answers to open questions, by their ids, at the messages after which they stand. */
export function noteAnswers({ places }: Conversation, interrupts: readonly Interrupt[], answers: unknown): void {
  const given = new Map(Object.entries(answers as Readonly<Record<string, unknown>>));
  for (const interrupt of interrupts) {
    const entry = places.get(interrupt.id);
    if (!entry || !given.has(interrupt.id)) continue;
    entry.answered = [...(entry.answered ?? []), { interrupt, answer: given.get(interrupt.id) }];
    entry.revision++;
  }
}

/** Takes all messages away: they are read anew. */
export function clearEntries({ entries, byId, places, calls, results }: Conversation): void {
  entries.length = 0;
  for (const each of [byId, places, calls, results]) each.clear();
}

/** Adds a page of the log in front of all that is there. What is there already stays where it is. */
export function prependPage(conversation: Conversation, messages: readonly LoggedMessage[]): void {
  const fresh = messages.filter(({ message_id: id }) => !conversation.byId.has(id));
  conversation.entries.unshift(...fresh.map((message) => addEntry(conversation, message)));
}

/** Brings consecutive messages of the log in: known ones in their places, others after the one before them, or at the end. */
export function mergePage(conversation: Conversation, messages: readonly LoggedMessage[]): void {
  const { entries, byId } = conversation;
  let place: number | undefined;
  for (const message of messages) {
    const known = byId.get(message.message_id);
    if (known) {
      if (known.state !== 'whole' || known.checkpointId !== message.checkpoint_id)
        replaceEntry(conversation, known, message);
      place = entries.lastIndexOf(known) + 1;
      continue;
    }
    const entry = addEntry(conversation, message);
    place = placeBehindDropped(entries, place ?? entries.length, entry);
    entries.splice(place, 0, entry);
    place++;
  }
}

/** The log has no dropped messages: what came into it later comes after them. */
function placeBehindDropped(entries: readonly Entry[], from: number, { timestamp }: Entry): number {
  const isLost = (entry: Entry | undefined): entry is Entry => entry?.state === 'dropped' || entry?.state === 'cut';
  let place = from;
  for (let next = entries[place]; isLost(next) && next.timestamp < timestamp; next = entries[place]) place++;
  return place;
}

/** Takes away what stands behind the last of these messages: the log has it no more. */
export function removeBehind({ entries, byId }: Conversation, ids: ReadonlySet<string | undefined>): void {
  const last = entries.findLastIndex(({ id }) => ids.has(id));
  if (last === -1) return;
  for (const { id } of entries.splice(last + 1)) byId.delete(id);
}

/** Messages that the log does not have now that their run has ended are not kept. */
export function dropCut({ entries }: Conversation): void {
  for (const entry of entries) {
    if (entry.state !== 'cut') continue;
    entry.state = 'dropped';
    entry.revision++;
  }
}
