import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const listThreads: Example = {
  query: { search: 'support', limit: 10 },
  reply: {
    threads: [
      {
        thread_id: exampleIds.thread,
        thread_name: 'Support',
        title: 'Support',
        user_id: null,
        metadata: null,
        created_at: '2026-02-05T12:00:00.000Z',
        updated_at: '2026-02-05T12:00:00.000Z',
        run_id: exampleIds.run,
        agent: 'default',
      },
    ],
    has_more: false,
  },
};

const thread = {
  thread_id: exampleIds.thread,
  thread_name: 'Support',
  title: 'Support',
  user_id: null,
  metadata: null as object | null,
  created_at: '2026-02-05T12:00:00.000Z',
  updated_at: '2026-02-05T12:00:00.000Z',
  run_id: exampleIds.run,
  agent: 'default',
  status: 'idle',
};

const detailsOf = (shown: typeof thread): object => ({ ...shown, thread_data: { thread: shown } });

export const getThread: Example = { params: { thread_id: exampleIds.thread }, reply: detailsOf(thread) };

export const updateThread: Example = {
  params: { thread_id: exampleIds.thread },
  body: { thread_name: 'Refund', metadata: { team: 'billing' } },
  reply: detailsOf({ ...thread, thread_name: 'Refund', title: 'Refund', metadata: { team: 'billing' } }),
};

export const deleteThread: Example = { params: { thread_id: exampleIds.thread }, reply: { success: true } };

export const forkThread: Example = {
  params: { thread_id: exampleIds.thread },
  body: { checkpoint_id: exampleIds.checkpoint, config: { thread_name: 'Another way' } },
  reply: {
    thread_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
    thread_name: 'Another way',
    title: 'Another way',
    user_id: null,
    metadata: null,
    created_at: '2026-02-05T12:00:00.000Z',
    updated_at: '2026-02-05T12:00:00.000Z',
    run_id: null,
    agent: 'default',
    thread_data: {
      thread: {
        thread_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
        thread_name: 'Another way',
        title: 'Another way',
        user_id: null,
        metadata: null,
        created_at: '2026-02-05T12:00:00.000Z',
        updated_at: '2026-02-05T12:00:00.000Z',
        run_id: null,
        agent: 'default',
      },
    },
  },
};

export const restoreThread: Example = {
  params: { thread_id: exampleIds.thread },
  body: { checkpoint_id: exampleIds.checkpoint },
  reply: {
    thread_id: exampleIds.thread,
    thread_name: 'Support',
    title: 'Support',
    user_id: null,
    metadata: null,
    created_at: '2026-02-05T12:00:00.000Z',
    updated_at: '2026-02-05T12:00:00.000Z',
    run_id: exampleIds.run,
    agent: 'default',
    status: 'idle',
    thread_data: {
      thread: {
        thread_id: exampleIds.thread,
        thread_name: 'Support',
        title: 'Support',
        user_id: null,
        metadata: null,
        created_at: '2026-02-05T12:00:00.000Z',
        updated_at: '2026-02-05T12:00:00.000Z',
        run_id: exampleIds.run,
        agent: 'default',
        status: 'idle',
      },
    },
  },
};

export const pruneThread: Example = {
  params: { thread_id: exampleIds.thread },
  body: { keep: 10 },
  reply: { success: true },
};
