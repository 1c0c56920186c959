import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const searchThreads: Example = {
  body: {
    metadata: { team: 'billing' },
    status: 'interrupted',
    limit: 10,
    select: ['thread_id', 'status', 'waits_for'],
  },
  reply: {
    threads: [{ thread_id: exampleIds.thread, status: 'interrupted', waits_for: 'answer' }],
    has_more: false,
  },
};

export const countThreads: Example = { body: { status: ['failed', 'interrupted'] }, reply: { count: 2 } };

export const listInbox: Example = {
  query: { limit: 10 },
  reply: {
    items: [
      {
        thread_id: exampleIds.thread,
        thread_name: 'Refund',
        title: 'Refund',
        agent: 'default',
        metadata: null,
        run_id: exampleIds.run,
        waiting_since: '2026-02-05T12:00:00.000Z',
        interrupts: [{ id: '6f1d1c2e', node: 'refund', value: 'May I refund 40 EUR?' }],
      },
    ],
    has_more: false,
  },
};
