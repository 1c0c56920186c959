import { ServiceError } from '@agent-workflow/kit/errors';
import { answeredCalls, callsOf, type Block, type Message } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { Snapshot } from '../ports/changes.ts';
import type { Head } from '../ports/record.ts';
import { fromJson, toJson } from '../record/json.ts';

/** What a run is given. */
interface GivenInput {
  readonly messages: readonly MessageEntry[];
  /** The calls whose results it has. */
  readonly answers: readonly string[];
  readonly hasNewInput: boolean;
}

/** The calls that stand in a context, and whether each has its result: by the id of a call, by the ids of the messages that make it, the last one last. */
export interface HeldCalls {
  readonly version: number;
  readonly answered: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
}

/** Thrown by a decision: it depends on the calls that the context of this head holds. It is made again with them. */
export class CallsToRead extends ServiceError {
  readonly head: Head;
  constructor(head: Head) {
    super('Unavailable', 'the thread changes just now');
    this.head = head;
  }
}

/**
 * The input with its conversation that is known already taken for what it is. Callers send a whole conversation with each request: results
 * of calls that stand in the same input before them, results in messages that the thread has, and results that the thread has under
 * another id, are history, and only the others answer open calls. Those of the last kind are left out, also where the message of their call
 * is sent again: no call gets a second result.
 * An input of nothing but history stays as it is given, and so do results of calls that nobody made.
 * @throws CallsToRead
 */
export function settle(given: GivenInput, head: Head, known: Settling): GivenInput {
  if (given.answers.length === 0) return given;
  const read = readInput(given, head, known);
  const isNew = read.messages.some(({ isKnown, message }) => !isKnown && message.role !== 'tool');
  if (read.answers.length === 0 && !given.hasNewInput) return given;
  return {
    messages: read.messages.map(({ entry }) => entry),
    answers: read.answers,
    // A conversation that is sent again with the missing results goes on as the results alone do.
    hasNewInput: given.hasNewInput && (read.answers.length === 0 || isNew),
  };
}

interface Settling {
  readonly snapshot: Pick<Snapshot, 'entries'>;
  /** Absent until a decision asked for them. */
  readonly held: HeldCalls | undefined;
}

interface Read {
  readonly entry: MessageEntry;
  readonly message: Message;
  readonly isKnown: boolean;
}

function readInput(
  { messages: given, answers: asked, hasNewInput }: GivenInput,
  head: Head,
  { snapshot, held }: Settling,
): { readonly messages: readonly Read[]; readonly answers: readonly string[] } {
  const messages = given.map((entry): Read => {
    const isKnown = snapshot.entries.has(entry.messageId);
    return { entry, message: fromJson(entry.json) as Message, isKnown };
  });
  const calls = callsByPlace(messages);
  const open = new Set(head.openCalls.map(({ callId }) => callId));
  const answering = new Set(asked);
  const answers: string[] = [];
  const heldCalls = (): HeldCalls['answered'] => {
    if (held?.version !== head.version) throw new CallsToRead(head);
    return held.answered;
  };
  /** Whether the thread has the result. `maker` is the message of the call that stands before it in the input. */
  const repeats = (id: string, maker: Read | undefined): boolean => {
    if (maker) return maker.isKnown && heldCalls().get(id)?.get(maker.entry.messageId) === true;
    // A result alone, of a call that is not open, is refused without a look at the context.
    const isAnswered = hasNewInput ? [...(heldCalls().get(id)?.values() ?? [])].at(-1) : undefined;
    if (isAnswered === undefined) answers.push(id);
    return isAnswered === true;
  };
  /** The results of a message that the thread has under another id. */
  const repeatedIn = ({ entry, message, isKnown }: Read, index: number): ReadonlySet<string> => {
    const results = message.role === 'tool' ? answeredCalls(message).filter((id) => answering.has(id)) : [];
    const stored = snapshot.entries.get(entry.messageId);
    const before = new Set(stored ? answeredCalls(fromJson(stored.json) as Message) : []);
    const isRepeated = (id: string): boolean => {
      const places = calls.get(id) ?? [];
      const last = places.at(-1) ?? -1;
      if (open.has(id) && last < index && !before.has(id)) answers.push(id);
      else if (!isKnown) return repeats(id, messages[places.findLast((place) => place < index) ?? -1]);
      return false;
    };
    return new Set(results.filter(isRepeated));
  };
  return { messages: messages.flatMap((read, index) => withoutResults(read, repeatedIn(read, index))), answers };
}

/** The message without these results; without anything left, none. */
function withoutResults(read: Read, repeated: ReadonlySet<string>): readonly Read[] {
  if (repeated.size === 0) return [read];
  const isRepeated = (block: Block): boolean => answeredCalls({ content: [block] }).some((id) => repeated.has(id));
  const content = read.message.content.filter((block) => !isRepeated(block));
  if (content.length === 0) return [];
  const message = { ...read.message, content };
  return [{ ...read, message, entry: { ...read.entry, json: toJson(message) } }];
}

/** Where each call stands in the input: models may name a call as one before it. */
function callsByPlace(messages: readonly Read[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [index, { message }] of messages.entries())
    for (const id of callsOf(message)) {
      const known = places.get(id);
      if (known) known.push(index);
      else places.set(id, [index]);
    }
  return places;
}

/** The calls of a context. A result is that of the last call of its id before it. */
export function callsIn(version: number, context: readonly Message[]): HeldCalls {
  const answered = new Map<string, Map<string, boolean>>();
  const makers = new Map<string, string>();
  for (const message of context) {
    const { message_id: messageId } = message;
    for (const id of callsOf(message)) {
      const made = answered.get(id) ?? new Map<string, boolean>();
      answered.set(id, made.set(messageId, false));
      makers.set(id, messageId);
    }
    for (const id of answeredCalls(message)) answered.get(id)?.set(makers.get(id) ?? messageId, true);
  }
  return { version, answered };
}
