import { ServiceError } from '@agent-workflow/kit/errors';
import { answeredCalls, callsOf, type Message } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { Snapshot } from '../ports/changes.ts';
import type { Head } from '../ports/record.ts';
import { fromJson } from '../record/json.ts';

/** What a run is given. */
interface GivenInput {
  readonly messages: readonly MessageEntry[];
  /** The calls whose results it has. */
  readonly answers: readonly string[];
  readonly hasNewInput: boolean;
}

/** The calls that stand in a context, and whether each has its result. */
export interface HeldCalls {
  readonly version: number;
  readonly answered: ReadonlyMap<string, boolean>;
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
 * another id, are history, and only the others answer open calls. Of the last kind, messages are left out: no call gets a second result.
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
  const isRepeated = ({ entry, message, isKnown }: Read, index: number): boolean => {
    const results = message.role === 'tool' ? answeredCalls(message).filter((id) => answering.has(id)) : [];
    const stored = snapshot.entries.get(entry.messageId);
    const before = new Set(stored ? answeredCalls(fromJson(stored.json) as Message) : []);
    const kinds = results.map((id) => {
      const { first = Infinity, last = -1 } = calls.get(id) ?? {};
      if (open.has(id) && last < index && !before.has(id)) answers.push(id);
      else if (!isKnown && first > index) return heldKind(id);
      return 'enters';
    });
    return kinds.length > 0 && kinds.every((kind) => kind === 'repeats');
  };
  /** A result alone, of a call that is not open, is refused without a look at the context. */
  const heldKind = (id: string): 'enters' | 'repeats' => {
    if (hasNewInput && held?.version !== head.version) throw new CallsToRead(head);
    const isAnswered = hasNewInput ? held?.answered.get(id) : undefined;
    if (isAnswered === undefined) answers.push(id);
    return isAnswered === true ? 'repeats' : 'enters';
  };
  const repeated = messages.map(isRepeated);
  return { messages: messages.filter((_, index) => repeated[index] !== true), answers };
}

/** Where each call stands in the input: models may name a call as one before it. */
function callsByPlace(messages: readonly Read[]): ReadonlyMap<string, { first: number; last: number }> {
  const places = new Map<string, { first: number; last: number }>();
  for (const [index, { message }] of messages.entries())
    for (const id of callsOf(message)) places.set(id, { first: places.get(id)?.first ?? index, last: index });
  return places;
}

/** The calls of a context. Of a call that stands in it several times, the last one counts. */
export function callsIn(version: number, context: readonly Message[]): HeldCalls {
  const answered = new Map<string, boolean>();
  for (const message of context) {
    for (const id of callsOf(message)) answered.set(id, false);
    for (const id of answeredCalls(message)) if (answered.has(id)) answered.set(id, true);
  }
  return { version, answered };
}
