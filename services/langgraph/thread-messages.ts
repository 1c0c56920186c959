import type { BaseMessage } from '@langchain/core/messages';
import type { Message, NewMessage } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { idFault } from '@agent-workflow/protos/message';
import { fromLangChain, isMessage } from './from-lang-chain.ts';
import type { Kept } from './kept.ts';
import type { Streamed } from './streamed-messages.ts';
import { fromRange, placesOf, toRanges, type Places, type Range } from './message-ranges.ts';
import { idName, toLangChain } from './to-lang-chain.ts';

type Ids = Kept['ids'];

/** The messages in a channel. A message that has no id gets one here, because a thread knows its messages by their ids. */
export function messagesIn(channel: unknown): readonly BaseMessage[] {
  const messages = Array.isArray(channel) ? (channel as unknown[]).filter(isMessage) : [];
  for (const message of messages) if (!message.id) message._updateId(newId());
  return messages;
}

/** The channel of messages as the thread has it. */
export interface ThreadChannel {
  readonly messages: readonly BaseMessage[];
  /** The ids that messages have in the thread, by their ids in LangGraph, where the two differ. */
  readonly ids: Ids;
  /** Where the thread's messages stand. */
  readonly places: Places;
  readonly messagesOf: (id: string) => readonly BaseMessage[];
}

/** Messages of a thread do not change, so each is made one of LangChain once. */
const made = new WeakMap<Message, readonly BaseMessage[]>();

function madeOf(message: Message): readonly BaseMessage[] {
  const known = made.get(message) ?? toLangChain(message);
  made.set(message, known);
  return known;
}

/** The context as messages of LangChain, in the order that the channel had; what came since stands at the end. */
export function channelOf(
  context: readonly Message[],
  { order: kept, ids }: Pick<Kept, 'order' | 'ids'>,
): ThreadChannel {
  const byId = new Map(context.map((message) => [message.message_id, madeOf(message)]));
  const order = [...byId.keys()];
  const places = placesOf(order);
  const first = (kept ?? []).flatMap((range) => fromRange(range, places) ?? []);
  const all = first.length === 0 ? order : [...new Set([...first, ...order])];
  const messagesOf = (id: string): readonly BaseMessage[] => byId.get(id) ?? [];
  const other = order.flatMap((id) =>
    messagesOf(id).flatMap((message) => (idOf(message) === id ? [] : [[idOf(message), id] as const])),
  );
  return { messages: all.flatMap(messagesOf), ids: { ...ids, ...Object.fromEntries(other) }, places, messagesOf };
}

interface Change {
  readonly context: readonly Message[];
  readonly before: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
  readonly ids: Ids;
  /** Those of `ids` that the state keeps, of messages that are not in the channel yet. */
  readonly pending: Ids;
  readonly streamed: readonly Streamed[];
  /** Whether the graph asks: sub-graphs then hold messages that the channel does not have yet. */
  readonly isAsking: boolean;
  /** The messages in the order in which they are merged into the thread. */
  readonly inOrder: (messages: readonly Changed[]) => readonly Changed[];
}

/** A message of the thread, and its id in LangGraph. */
export type Changed = NewMessage & { readonly message_id: string };

interface ThreadUpdate {
  readonly messages: readonly Changed[];
  readonly removed: readonly string[];
  /** The ids of messages that are not in the channel yet. */
  readonly pending: Ids;
  /** The messages of the channel with their ids in the thread. */
  readonly stored: ReadonlyMap<BaseMessage, string>;
  /** Where the thread's messages stand after the step. */
  readonly places: Places;
  /** The order of the channel, where it is not that of the thread. */
  readonly order: readonly Range[] | undefined;
}

/** What a super-step changed in the thread: messages added, replaced and removed in the channel. */
export function updateOf({ context, before, after, ids, pending, streamed, isAsking, inOrder }: Change): ThreadUpdate {
  const present = new Set(context.map(({ message_id: id }) => id));
  const { kept, lost } = findStreamed(after, streamed, (message) => !present.has(idIn(ids, message)));
  const newIds = idsOf(after, ids, kept);
  const earlier = new Map(before.map((message) => [idOf(message), message]));
  const parts = Map.groupBy(after, (message) => idIn(newIds, message));
  const partsBefore = Map.groupBy(before, (message) => idIn(ids, message));
  const changed = [...parts].filter(
    ([id, all]) =>
      !present.has(id) ||
      all.length < (partsBefore.get(id)?.length ?? 0) ||
      all.some((message) => isOther(message, earlier.get(idOf(message)))),
  );
  const left = new Set([...partsBefore.keys()].filter((id) => present.has(id) && !parts.has(id)));
  const messages = inOrder(changed.map(([id, all]) => toThread(all, id)));
  const isGone = new Set(left);
  const added = messages.map(({ message_id: id }) => id).filter((id) => !present.has(id));
  const places = placesOf([...new Set([...[...present].filter((id) => !isGone.has(id)), ...added])]);
  return {
    messages,
    // What the graph does not keep of them was seen by followers: it stays in the log alone.
    removed: [...left, ...lost.map(({ messageId }) => messageId)],
    pending: {
      ...(isAsking ? pending : {}),
      ...Object.fromEntries(lost.flatMap(({ id, messageId }) => (id === messageId ? [] : [[id, messageId]]))),
    },
    stored: new Map(after.map((message) => [message, idIn(newIds, message)])),
    ...{ places, order: orderOf(after, newIds, places) },
  };
}

/** The order of the channel as ranges of the thread; `undefined` where it is the same. */
function orderOf(after: readonly BaseMessage[], ids: Ids, places: Places): readonly Range[] | undefined {
  const ranges = toRanges(
    after.map((message) => idIn(ids, message)),
    places,
  );
  return ranges && ranges.length > 1 ? ranges : undefined;
}

/** Several messages of one id are results that the thread has in one message. */
function toThread(messages: readonly BaseMessage[], id: string): Changed {
  const all = messages.map(fromLangChain);
  const [own = id] = messages.map(idOf);
  const metadata = Object.assign(
    {},
    ...all.map((one) => one.metadata).toReversed(),
    own !== id && { [idName]: own },
  ) as NonNullable<Changed['metadata']>;
  return {
    ...all[0],
    message_id: id,
    content: all.flatMap(({ content }) => content),
    ...(Object.keys(metadata).length > 0 && { metadata }),
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
