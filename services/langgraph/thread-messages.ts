import { RemoveMessage, type BaseMessage } from '@langchain/core/messages';
import type { Message, NewMessage } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { idFault } from '@agent-workflow/protos/message';
import { fromLangChain, isMessage } from './from-lang-chain.ts';
import type { Kept } from './kept.ts';
import type { Streamed } from './streamed-messages.ts';
import { toLangChain } from './to-lang-chain.ts';

type Ids = Kept['ids'];

/** The messages in a channel. A message that has no id gets one here, because a thread knows its messages by their ids. */
export function messagesIn(channel: unknown): readonly BaseMessage[] {
  const messages = Array.isArray(channel) ? (channel as unknown[]).filter(isMessage) : [];
  for (const message of messages) if (!message.id) message._updateId(newId());
  return messages;
}

interface Input {
  readonly messages: readonly BaseMessage[];
  readonly ids: Ids;
}

/** What the channel lacks of the context, and what it holds that has left the context. */
export function inputOf(context: readonly Message[], channel: readonly BaseMessage[], ids: Ids): Input {
  const known = new Set(channel.map((message) => idIn(ids, message)));
  const present = new Set(context.map(({ message_id: id }) => id));
  const gone = channel.filter((message) => !present.has(idIn(ids, message)));
  const fresh = context.filter(({ message_id: id }) => !known.has(id));
  const added = fresh.map((message) => ({ id: message.message_id, messages: toLangChain(message) }));
  const further = added.flatMap(({ id, messages }) => messages.slice(1).map((message) => [idOf(message), id] as const));
  return {
    messages: [
      ...gone.map((message) => new RemoveMessage({ id: idOf(message) })),
      ...added.flatMap(({ messages }) => messages),
    ],
    ids: { ...ids, ...Object.fromEntries(further) },
  };
}

interface Change {
  readonly context: readonly Message[];
  readonly before: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
  readonly ids: Ids;
  readonly streamed: readonly Streamed[];
  /** Whether the graph asks: sub-graphs then hold messages that the channel does not have yet. */
  readonly isAsking: boolean;
}

interface ThreadUpdate {
  readonly messages: readonly NewMessage[];
  readonly removed: readonly string[];
  readonly ids: Ids;
}

/** What a super-step changed in the thread: messages added, replaced and removed in the channel. */
export function updateOf({ context, before, after, ids, streamed, isAsking }: Change): ThreadUpdate {
  const present = new Set(context.map(({ message_id: id }) => id));
  const { kept, lost } = findStreamed(after, streamed, (message) => !present.has(idIn(ids, message)));
  const newIds = idsOf(after, ids, kept);
  const earlier = new Map(before.map((message) => [idOf(message), message]));
  const changed = after.filter(
    (message) => !present.has(idIn(newIds, message)) || isOther(message, earlier.get(idOf(message))),
  );
  const there = new Set(after.map((message) => idIn(newIds, message)));
  const left = new Set(before.map((message) => idIn(ids, message)).filter((id) => present.has(id) && !there.has(id)));
  return {
    messages: changed.map((message) => ({ ...fromLangChain(message), message_id: idIn(newIds, message) })),
    // What the graph does not keep of them was seen by followers: it stays in the log alone.
    removed: [...left, ...lost.map(({ messageId }) => messageId)],
    ids: {
      ...(isAsking ? ids : {}),
      ...newIds,
      ...Object.fromEntries(lost.flatMap(({ id, messageId }) => (id === messageId ? [] : [[id, messageId]]))),
    },
  };
}

/**
 * The streamed messages by their ids in the channel: each is the one with its id, or a new one of the same text, which a node made of a
 * model's answer. `lost` are not in the channel.
 */
function findStreamed(
  after: readonly BaseMessage[],
  streamed: readonly Streamed[],
  isNew: (message: BaseMessage) => boolean,
): { readonly kept: Ids; readonly lost: readonly Streamed[] } {
  if (streamed.length === 0) return { kept: {}, lost: [] };
  const present = new Set(after.map(idOf));
  const known = new Set(streamed.map(({ id }) => id));
  const made = new Map(
    after
      .filter((message) => message.type === 'ai' && message.text !== '' && !known.has(idOf(message)) && isNew(message))
      .map((message) => [message.text, idOf(message)]),
  );
  const found = streamed.map((one) => {
    if (present.has(one.id)) return { one, id: one.id };
    const id = made.get(one.text);
    made.delete(one.text);
    return { one, id };
  });
  return {
    kept: Object.fromEntries(found.flatMap(({ one, id }) => (id === undefined ? [] : [[id, one.messageId]]))),
    lost: found.flatMap(({ one, id }) => (id === undefined ? [one] : [])),
  };
}

/** The ids that differ in the thread, of the messages that are in the channel. */
function idsOf(after: readonly BaseMessage[], ids: Ids, emitted: Ids = {}): Ids {
  return Object.fromEntries(
    after.flatMap((message) => {
      const id = idOf(message);
      const other = own(emitted, id) ?? own(ids, id) ?? (mayBeId(id) ? undefined : newId());
      return other === undefined || other === id ? [] : [[id, other]];
    }),
  );
}

/** Whether a message was replaced. Nodes give back messages that did not change as other objects. */
const isOther = (message: BaseMessage, before: BaseMessage | undefined): boolean =>
  before !== undefined &&
  message !== before &&
  JSON.stringify(fromLangChain(message)) !== JSON.stringify(fromLangChain(before));

const idOf = ({ id = '' }: BaseMessage): string => id;
const idIn = (ids: Ids, message: BaseMessage): string => own(ids, idOf(message)) ?? idOf(message);
const own = (ids: Ids, id: string): string | undefined => (Object.hasOwn(ids, id) ? ids[id] : undefined);

const mayBeId = (id: string): boolean => id !== '0' && idFault(id) === undefined;
