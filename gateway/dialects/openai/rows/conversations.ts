import type { Message } from '@agent-workflow/protos/message';
import type { Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import { metadataBytes } from '../../common/bounded.ts';
import { toEntries } from '../../common/incoming-messages.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { shownId } from '../ids/shown-id.ts';
import { toGiven } from '../messages/conversation.ts';
import { fromItems } from '../messages/from-items.ts';
import { itemsOf } from '../out/items.ts';
import * as schemas from '../schemas/conversations.ts';
import { ItemsQuery } from '../schemas/responses.ts';
import { itemsPage, listOf } from './items-page.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;
const write = { resource: 'checkpointer', action: 'write' } as const;
const remove = { resource: 'checkpointer', action: 'delete' } as const;

const toConversation = ({ threadId, createdAt, metadataJson }: Thread): string =>
  JSON.stringify({
    ...{ id: shownId('conv', threadId), object: 'conversation', created_at: Math.floor(createdAt / 1000) },
    metadata: metadataJson ? (JSON.parse(jsonText(metadataJson)) as unknown) : {},
  });

type Reading = Pick<EndpointRequest, 'owner' | 'call'>;

const conversationText = async ({ owner, call }: Reading, threadId: string, { threads }: Pick<Services, 'threads'>) =>
  toConversation(await threads.getThread({ owner, threadId }, call()));

/** Items of a request as messages that are added to a thread. */
const entriesOf = ({ newId, at }: Pick<EndpointRequest, 'newId' | 'at'>, items: readonly unknown[]) =>
  toEntries(toGiven(fromItems(items, 'items'), false).messages, newId, at);

const createConversation = endpoint({
  name: 'oaCreateConversation',
  method: 'POST',
  path: '/openai/v1/conversations',
  access: write,
  input: schemas.CreateConversation,
  handle: async (request, services) => {
    const { input, owner, newId, idempotency, isRepeated, call } = request;
    const { threads } = services;
    const { metadata, items = [] } = input;
    const threadId = newId('thread');
    const messages = entriesOf(request, items);
    if (!isRepeated) {
      const more = metadata && { metadataJson: metadataBytes(metadata, ['body', 'metadata']) };
      await threads.createThread({ owner, threadId, ...more, ...idempotency }, call());
      if (messages.length > 0) await threads.addMessages({ owner, threadId, messages, ...idempotency }, call());
    }
    return conversationText(request, threadId, services);
  },
});

const getConversation = endpoint({
  name: 'oaGetConversation',
  method: 'GET',
  path: '/openai/v1/conversations/{thread_id}',
  access: read,
  params: schemas.ConversationParams,
  handle: (request, services) => conversationText(request, request.params.thread_id, services),
});

const updateConversation = endpoint({
  name: 'oaUpdateConversation',
  method: 'POST',
  path: '/openai/v1/conversations/{thread_id}',
  access: write,
  params: schemas.ConversationParams,
  input: schemas.UpdateConversation,
  handle: async (request, services) => {
    const { owner, params, input, idempotency, call } = request;
    const threadId = params.thread_id;
    const metadataJson = metadataBytes(input.metadata ?? {}, ['body', 'metadata']);
    const change = { metadataJson, dropName: false, dropMetadata: false, dropTtl: false };
    await services.threads.updateThread({ owner, threadId, ...change, ...idempotency }, call());
    return conversationText(request, threadId, services);
  },
});

const deleteConversation = endpoint({
  name: 'oaDeleteConversation',
  method: 'DELETE',
  path: '/openai/v1/conversations/{thread_id}',
  access: remove,
  params: schemas.ConversationParams,
  handle: async ({ owner, params, idempotency, call }, { execution }) => {
    const threadId = params.thread_id;
    await execution.deleteThread({ owner, threadId, ...idempotency }, call());
    return JSON.stringify({ id: shownId('conv', threadId), object: 'conversation.deleted', deleted: true });
  },
});

/** Messages of a thread that one request reads, at most. */
const most = 10_000;

/** The items of a thread, oldest first. */
async function readItems({ owner, call }: Reading, threadId: string, { threads }: Pick<Services, 'threads'>) {
  const items: ReturnType<typeof itemsOf>[number][] = [];
  let cursor: string | undefined;
  for (let count = 0; count < most;) {
    const more = cursor === undefined ? {} : { cursor };
    const page = await threads.listMessages({ owner, threadId, limit: 1000, offset: 0, ...more }, call());
    const messages = JSON.parse(jsonText(page.messagesJson)) as readonly Message[];
    items.push(...messages.flatMap(itemsOf));
    count += messages.length;
    if (page.cursor === undefined) break;
    cursor = page.cursor;
  }
  return items;
}

const listItems = endpoint({
  name: 'oaListItems',
  method: 'GET',
  path: '/openai/v1/conversations/{thread_id}/items',
  access: read,
  params: schemas.ConversationParams,
  input: ItemsQuery,
  handle: async (request, services) =>
    JSON.stringify(itemsPage(await readItems(request, request.params.thread_id, services), request.input)),
});

const addItems = endpoint({
  name: 'oaAddItems',
  method: 'POST',
  path: '/openai/v1/conversations/{thread_id}/items',
  access: write,
  params: schemas.ConversationParams,
  input: schemas.AddItems,
  handle: async (request, { threads }) => {
    const { owner, params, input, idempotency, call } = request;
    const messages = entriesOf(request, input.items);
    await threads.addMessages({ owner, threadId: params.thread_id, messages, ...idempotency }, call());
    const added = messages.map(({ json }) => JSON.parse(jsonText(json)) as Message);
    return JSON.stringify(listOf(added.flatMap(itemsOf), false));
  },
});

const getItem = endpoint({
  name: 'oaGetItem',
  method: 'GET',
  path: '/openai/v1/conversations/{thread_id}/items/{message_id}',
  access: read,
  params: schemas.ItemParams,
  handle: async ({ owner, params, call }, { threads }) => {
    const { thread_id: threadId, message_id: messageId } = params;
    const { json } = await threads.getMessage({ owner, threadId, messageId }, call());
    const [item] = itemsOf(JSON.parse(jsonText(json)) as Message);
    return JSON.stringify(item ?? null);
  },
});

const deleteItem = endpoint({
  name: 'oaDeleteItem',
  method: 'DELETE',
  path: '/openai/v1/conversations/{thread_id}/items/{message_id}',
  access: remove,
  params: schemas.ItemParams,
  handle: async (request, services) => {
    const { owner, params, idempotency, call } = request;
    const { thread_id: threadId, message_id: messageId } = params;
    await services.threads.deleteMessage({ owner, threadId, messageId, ...idempotency }, call());
    return conversationText(request, threadId, services);
  },
});

export const conversationRows = [
  ...[createConversation, getConversation, updateConversation, deleteConversation],
  ...[listItems, addItems, getItem, deleteItem],
];
