import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const listMessages: Example = {
  params: { thread_id: exampleIds.thread },
  query: { search: 'hello', order: 'desc' },
  reply: {
    messages: [
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hello! What can I do for you?' }],
        timestamp: '2026-02-05T12:00:00.000Z',
        checkpoint_id: exampleIds.checkpoint,
      },
      {
        message_id: exampleIds.message,
        role: 'user',
        content: [{ type: 'text', text: 'Hello' }],
        timestamp: '2026-02-05T12:00:00.000Z',
        checkpoint_id: exampleIds.checkpoint,
      },
    ],
    has_more: false,
  },
};

export const getMessage: Example = {
  params: { thread_id: exampleIds.thread, message_id: exampleIds.message },
  reply: {
    message_id: exampleIds.message,
    role: 'user',
    content: [{ type: 'text', text: 'Hello' }],
    timestamp: '2026-02-05T12:00:00.000Z',
    checkpoint_id: exampleIds.checkpoint,
    message: {
      message_id: exampleIds.message,
      role: 'user',
      content: [{ type: 'text', text: 'Hello' }],
      timestamp: '2026-02-05T12:00:00.000Z',
      checkpoint_id: exampleIds.checkpoint,
    },
  },
};

export const addMessages: Example = {
  params: { thread_id: exampleIds.thread },
  body: { messages: [{ message_id: 'note-1', role: 'user', content: 'I am in Oslo.' }], metadata: { source: 'form' } },
  reply: {
    messages: [
      {
        message_id: 'note-1',
        role: 'user',
        content: [{ type: 'text', text: 'I am in Oslo.' }],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
    success: true,
    message: '1 message added',
  },
};

export const deleteMessage: Example = {
  params: { thread_id: exampleIds.thread, message_id: exampleIds.message },
  reply: { success: true },
};
