import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const getState: Example = {
  params: { thread_id: exampleIds.thread },
  reply: {
    checkpoint_id: '2',
    agent: 'default',
    state: {
      user_name: '',
      context: [
        {
          message_id: exampleIds.message,
          role: 'user',
          content: [{ type: 'text', text: 'Hello' }],
          timestamp: '2026-02-05T12:00:00.000Z',
        },
        {
          message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
          role: 'assistant',
          content: [{ type: 'text', text: 'Hello! What can I do for you?' }],
          timestamp: '2026-02-05T12:00:00.000Z',
        },
      ],
      context_summary: '',
    },
  },
};

export const updateState: Example = {
  params: { thread_id: exampleIds.thread },
  body: { config: {}, state: { user_name: 'Ada' } },
  reply: {
    checkpoint_id: '3',
    agent: 'default',
    state: {
      user_name: 'Ada',
      context: [
        {
          message_id: exampleIds.message,
          role: 'user',
          content: [{ type: 'text', text: 'Hello' }],
          timestamp: '2026-02-05T12:00:00.000Z',
        },
        {
          message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
          role: 'assistant',
          content: [{ type: 'text', text: 'Hello! What can I do for you?' }],
          timestamp: '2026-02-05T12:00:00.000Z',
        },
      ],
      context_summary: '',
    },
  },
};

export const clearState: Example = { params: { thread_id: exampleIds.thread }, reply: { success: true } };
