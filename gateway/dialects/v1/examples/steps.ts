import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const step = {
  step: 0,
  checkpoint_id: exampleIds.checkpoint,
  nodes: ['agent'],
  next: [],
  changed: { user_name: 'Ada' },
  messages: [
    {
      message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello! What can I do for you?' }],
      timestamp: '2026-02-05T12:00:00.000Z',
    },
  ],
  removed: [],
  started_at: '2026-02-05T11:59:59.120Z',
  ended_at: '2026-02-05T12:00:00.000Z',
  attempt: 1,
  retries: 0,
  usage: { input_tokens: 120, output_tokens: 12 },
};

export const listRunSteps: Example = {
  params: { run_id: exampleIds.run },
  query: { limit: 10 },
  reply: { run_id: exampleIds.run, thread_id: exampleIds.thread, steps: [step], has_more: false },
};

export const getRunStep: Example = {
  params: { run_id: exampleIds.run, step: '0' },
  reply: { step, state: { user_name: 'Ada', context: step.messages, context_summary: '' } },
};
