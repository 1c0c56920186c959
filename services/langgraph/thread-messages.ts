import { RemoveMessage, type BaseMessage } from '@langchain/core/messages';
import type { Block, Message, NewMessage } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { idFault } from '@agent-workflow/protos/message';
import { fromLangChain } from './from-lang-chain.ts';
import type { Kept } from './kept.ts';
import { toLangChain } from './to-lang-chain.ts';

type Ids = Kept['ids'];

/** The messages in a channel. A message that has no id gets one here, because a thread knows its messages by their ids. */
export function messagesIn(channel: unknown): readonly BaseMessage[] {
  const messages = Array.isArray(channel) ? (channel as unknown[]).filter(isMessage) : [];
  for (const message of messages) if (!message.id) message._updateId(newId());
  return messages;
}

const isMessage = (value: unknown): value is BaseMessage =>
  typeof value === 'object' && value !== null && '_updateId' in value && 'content' in value;

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
  /** The text that was emitted, and the id that its message has in LangGraph. */
  readonly streamed?: { readonly id: string; readonly text: string } | undefined;
  /** The id of the emitted message in the thread. */
  readonly messageId: string;
}

interface ThreadUpdate {
  readonly messages: readonly NewMessage[];
  readonly removed: readonly string[];
  readonly ids: Ids;
  /** Blocks of the emitted message that were not streamed. */
  readonly rest: readonly Block[];
}

/** What a super-step changed in the thread: messages added, replaced and removed in the channel. */
export function updateOf({ context, before, after, ids, streamed, messageId }: Change): ThreadUpdate {
  const present = new Set(context.map(({ message_id: id }) => id));
  const emitted = streamed && emittedIn(after, streamed, (message) => !present.has(idIn(ids, message)));
  const newIds = idsOf(after, ids, emitted && { [idOf(emitted)]: messageId });
  const earlier = new Map(before.map((message) => [idOf(message), message]));
  const changed = after.filter(
    (message) => !present.has(idIn(newIds, message)) || isOther(message, earlier.get(idOf(message))),
  );
  const kept = new Set(after.map((message) => idIn(newIds, message)));
  const left = new Set(before.map((message) => idIn(ids, message)).filter((id) => present.has(id) && !kept.has(id)));
  const isLost = streamed !== undefined && emitted === undefined;
  return {
    messages: changed.map((message) => ({ ...fromLangChain(message), message_id: idIn(newIds, message) })),
    // Text of a model whose message the graph does not keep was seen by followers: it stays in the log alone.
    removed: [...left, ...(isLost ? [messageId] : [])],
    ids: isLost ? { ...newIds, [streamed.id]: messageId } : newIds,
    rest: emitted ? fromLangChain(emitted).content.filter(({ type }) => type !== 'text') : [],
  };
}

/** The message of the emitted text: the one with its id, or a new one of the same text, which a node made of the model's answer. */
function emittedIn(
  after: readonly BaseMessage[],
  { id, text }: NonNullable<Change['streamed']>,
  isNew: (message: BaseMessage) => boolean,
): BaseMessage | undefined {
  return (
    after.find((message) => message.id === id) ??
    after.findLast((message) => message.type === 'ai' && message.text === text && isNew(message))
  );
}

/** The ids that differ in the thread, of the messages that are in the channel. */
function idsOf(after: readonly BaseMessage[], ids: Ids, emitted: Ids = {}): Ids {
  return Object.fromEntries(
    after.flatMap((message) => {
      const id = idOf(message);
      const other = own(emitted, id) ?? own(ids, id) ?? (mayBeId(id) ? undefined : newId());
      return other === undefined ? [] : [[id, other]];
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
