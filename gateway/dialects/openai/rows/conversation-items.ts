import { notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Message } from '@agent-workflow/protos/message';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { itemPlaces, readAnyId } from '../ids/shown-id.ts';
import { itemsOf } from '../out/items.ts';
import { refusalWith } from '../replies/refusal.ts';
import { AddItems, ConversationParams, ItemParams } from '../schemas/conversations.ts';
import { ItemsQuery, type ItemsPage } from '../schemas/responses.ts';
import { conversationText, entriesOf } from './conversation.ts';
import { inOrder, itemsAfter, listOf, noSuchItem, type Item } from './items-page.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;
const write = { resource: 'checkpointer', action: 'write' } as const;
const remove = { resource: 'checkpointer', action: 'delete' } as const;

type Reading = Pick<EndpointRequest, 'owner' | 'call'>;
type Threads = Pick<Services, 'threads'>;

interface FoundItem {
  readonly messageId: string;
  readonly item: Item;
  /** All items of its message, oldest first. */
  readonly all: readonly Item[];
}

/** The item of a thread that has this id; `undefined` where there is none. */
async function findItem(
  { owner, call }: Reading,
  { threadId, id }: { readonly threadId: string; readonly id: string },
  { threads }: Threads,
): Promise<FoundItem | undefined> {
  for (const { messageId, shown } of itemPlaces(id)) {
    const found = await undefinedIfNotFound(threads.getMessage({ owner, threadId, messageId }, call()));
    const all = found ? itemsOf(JSON.parse(jsonText(found.json)) as Message) : [];
    const item = all.find((one) => one['id'] === shown);
    if (item) return { messageId, item, all };
  }
  return undefined;
}

/** The items of a thread in an order, from the first of the page on. @throws Invalid where `after` is none of them */
async function* itemsOfThread(
  { owner, call }: Reading,
  { threadId, page }: { readonly threadId: string; readonly page: ItemsPage },
  { threads }: Threads,
): AsyncGenerator<Item> {
  const { after, limit, order = 'desc' } = page;
  const id = after === undefined ? undefined : readAnyId(after);
  const found = id === undefined ? undefined : await findItem({ owner, call }, { threadId, id }, { threads });
  if (after !== undefined && !found) throw noSuchItem();
  if (found) yield* itemsAfter(inOrder(found.all, page), after);
  const asked = { owner, threadId, limit: limit + 1, offset: 0, ...(order === 'desc' && { newestFirst: true }) };
  let start: { readonly afterMessageId?: string; readonly cursor?: string } | undefined = found
    ? { afterMessageId: found.messageId }
    : {};
  while (start) {
    const { messagesJson, cursor } = await threads.listMessages({ ...asked, ...start }, call());
    for (const message of JSON.parse(jsonText(messagesJson)) as readonly Message[])
      yield* inOrder(itemsOf(message), page);
    start = cursor === undefined ? undefined : { cursor };
  }
}

const listItems = endpoint({
  name: 'oaListItems',
  method: 'GET',
  path: '/openai/v1/conversations/{thread_id}/items',
  access: read,
  params: ConversationParams,
  input: ItemsQuery,
  handle: async (request, services) => {
    const { input: page, params } = request;
    const items: Item[] = [];
    let bytes = 0;
    for await (const item of itemsOfThread(request, { threadId: params.thread_id, page }, services)) {
      bytes += Buffer.byteLength(JSON.stringify(item));
      if (items.length === page.limit || (bytes > sizes.page && items.length > 0))
        return JSON.stringify(listOf(items, true));
      items.push(item);
    }
    return JSON.stringify(listOf(items, false));
  },
});

const addItems = endpoint({
  name: 'oaAddItems',
  method: 'POST',
  path: '/openai/v1/conversations/{thread_id}/items',
  access: write,
  params: ConversationParams,
  input: AddItems,
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
  params: ItemParams,
  handle: async (request, services) => {
    const { thread_id: threadId, message_id: id } = request.params;
    const found = await findItem(request, { threadId, id }, services);
    if (!found) throw notFound('there is no such item in the conversation');
    return JSON.stringify(found.item);
  },
});

const deleteItem = endpoint({
  name: 'oaDeleteItem',
  method: 'DELETE',
  path: '/openai/v1/conversations/{thread_id}/items/{message_id}',
  access: remove,
  params: ItemParams,
  handle: async (request, services) => {
    const { owner, params, idempotency, call } = request;
    const { thread_id: threadId, message_id: id } = params;
    const found = await findItem(request, { threadId, id }, services);
    if (found && found.all.length > 1)
      throw refusalWith(
        'BadRequest',
        'item_of_message',
        'The item stands in a message with others, which can be deleted only together: delete the message below /v1.',
      );
    // Where it is absent, an earlier request with this key may have deleted it.
    const messageId = found?.messageId ?? itemPlaces(id).at(-1)?.messageId ?? id;
    await services.threads.deleteMessage({ owner, threadId, messageId, ...idempotency }, call());
    return conversationText(request, threadId, services);
  },
});

export const itemRows = [listItems, addItems, getItem, deleteItem];
