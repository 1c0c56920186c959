import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const listCheckpoints: Example = {
  params: { thread_id: exampleIds.thread },
  query: { limit: 10 },
  reply: {
    checkpoints: [
      {
        checkpoint_id: exampleIds.checkpoint,
        thread_id: exampleIds.thread,
        source: 'step',
        run_id: exampleIds.run,
        step: 0,
        nodes: ['agent'],
        next: [],
        metadata: null,
        created_at: '2026-02-05T12:00:00.000Z',
        started_at: '2026-02-05T11:59:59.120Z',
        ended_at: '2026-02-05T12:00:00.000Z',
        attempt: 1,
        retries: 0,
        usage: { input_tokens: 120, output_tokens: 12 },
      },
      {
        checkpoint_id: '1795418778876001',
        thread_id: exampleIds.thread,
        source: 'input',
        run_id: exampleIds.run,
        step: null,
        nodes: [],
        next: [],
        metadata: null,
        created_at: '2026-02-05T12:00:00.000Z',
        started_at: null,
        ended_at: null,
        attempt: null,
        retries: null,
        usage: null,
      },
    ],
    has_more: false,
  },
};

export const getCheckpoint: Example = {
  params: { thread_id: exampleIds.thread, checkpoint_id: exampleIds.checkpoint },
  reply: {
    checkpoint: {
      checkpoint_id: exampleIds.checkpoint,
      thread_id: exampleIds.thread,
      source: 'step',
      run_id: exampleIds.run,
      step: 0,
      nodes: ['agent'],
      next: [],
      metadata: null,
      created_at: '2026-02-05T12:00:00.000Z',
      started_at: '2026-02-05T11:59:59.120Z',
      ended_at: '2026-02-05T12:00:00.000Z',
      attempt: 1,
      retries: 0,
      usage: { input_tokens: 120, output_tokens: 12 },
    },
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
