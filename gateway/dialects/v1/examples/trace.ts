import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const message = '019c2f6e-a000-7a10-8000-3b5c9d1e7f30';
const step = {
  step: 0,
  started_at: '2026-02-05T11:59:59.120Z',
  ended_at: '2026-02-05T12:00:00.000Z',
  status: 'completed',
};

export const getRunTrace: Example = {
  params: { run_id: exampleIds.run },
  query: { limit: 50 },
  reply: {
    run_id: exampleIds.run,
    thread_id: exampleIds.thread,
    status: 'completed',
    created_at: '2026-02-05T11:59:59.100Z',
    ended_at: '2026-02-05T12:00:00.000Z',
    shows_content: true,
    spans: [
      {
        ...{ id: 's0', parent_id: null, kind: 'step', name: 'agent', ...step, attempt: 1 },
        usage: { input_tokens: 120, output_tokens: 12 },
        checkpoint_id: exampleIds.checkpoint,
        next: [],
      },
      {
        ...{ id: 's0.1', parent_id: 's0', kind: 'node', name: 'agent', ...step },
        output: { message_ids: [message], messages: 1, fields: [] },
      },
      {
        ...{ id: 's0.2', parent_id: 's0.1', kind: 'model', name: 'gpt-5', ...step },
        usage: { input_tokens: 120, output_tokens: 12 },
        finish_reason: 'stop',
        message_id: message,
        sent: {
          count: 1,
          ranges: [
            { from: '019c2f6e-9c00-7a10-8000-3b5c9d1e7f2f', to: '019c2f6e-9c00-7a10-8000-3b5c9d1e7f2f', count: 1 },
          ],
          other: 0,
        },
        content: { instructions: 'You answer questions about orders.', tools: ['look_up'] },
      },
    ],
    has_more: false,
    next_after: 0,
  },
};
