import { metadataBytes } from '../../common/bounded.ts';
import { endpoint } from '../../common/services.ts';
import { shownId } from '../ids/shown-id.ts';
import * as schemas from '../schemas/conversations.ts';
import { conversationText, entriesOf } from './conversation.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;
const write = { resource: 'checkpointer', action: 'write' } as const;
const remove = { resource: 'checkpointer', action: 'delete' } as const;

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

export const conversationRows = [createConversation, getConversation, updateConversation, deleteConversation];
