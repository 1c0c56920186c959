import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const createRun: Example = {
  body: { messages: [{ role: 'user', content: 'What is 6 times 7?' }], config: { thread_id: exampleIds.thread } },
  reply: { run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30', thread_id: exampleIds.thread, status: 'running' },
};

export const createRuns: Example = {
  body: {
    runs: [
      { messages: [{ role: 'user', content: 'What is 6 times 7?' }], config: { thread_id: exampleIds.thread } },
      { messages: [{ role: 'user', content: 'What is 7 times 8?' }] },
    ],
  },
  reply: {
    runs: [
      { run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30', thread_id: exampleIds.thread, status: 'running' },
      {
        run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f31',
        thread_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f32',
        status: 'queued',
      },
    ],
  },
};

export const getRun: Example = {
  params: { run_id: exampleIds.run },
  reply: {
    run_id: exampleIds.run,
    thread_id: exampleIds.thread,
    thread_title: 'What is 6 times 7?',
    agent: 'default',
    status: 'completed',
    created_at: '2026-02-05T12:00:00.000Z',
    updated_at: '2026-02-05T12:00:00.000Z',
    started_at: '2026-02-05T12:00:00.000Z',
    ended_at: '2026-02-05T12:00:00.000Z',
    iterations: 1,
    recursion_limit_reached: false,
  },
};

export const getRunChain: Example = {
  params: { run_id: exampleIds.run },
  query: { limit: 2 },
  reply: { runs: [getRun.reply], has_more: false },
};

export const waitForRun: Example = {
  params: { run_id: exampleIds.run },
  reply: {
    messages: [
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hello! What can I do for you?' }],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
    all_messages: [
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hello! What can I do for you?' }],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
    state: {
      context_summary: '',
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
    },
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
    summary: '',
    iterations: 1,
    recursion_limit_reached: false,
    metadata: {
      message: 'completed',
      request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f31',
      timestamp: '2026-02-05T12:00:00.000Z',
    },
    meta: { thread_id: exampleIds.thread, run_id: exampleIds.run, is_new_thread: true, status: 'completed' },
  },
};

export const streamRun: Example = {
  params: { run_id: exampleIds.run },
  query: { after: 1 },
  reply: {
    event: 'on_chain_start',
    data: {},
    thread_id: exampleIds.thread,
    run_id: exampleIds.run,
    metadata: { request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30', thread_id: exampleIds.thread, is_new_thread: true },
    timestamp: '2026-02-05T12:00:00.000Z',
  },
};

export const makeRunTicket: Example = {
  params: { run_id: exampleIds.run },
  body: {},
  reply: { ticket: '43-characters-that-only-this-reply-shows-it', expires_at: '2026-02-05T12:00:00.000Z' },
};

export const cancelRun: Example = {
  params: { run_id: exampleIds.run },
  body: {},
  reply: {
    success: false,
    run_id: exampleIds.run,
    status: 'completed',
    message: 'the run had ended before: completed',
  },
};

export const retryRun: Example = {
  params: { run_id: exampleIds.run },
  body: {},
  reply: { run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30', thread_id: exampleIds.thread, status: 'running' },
};

export const listOwnRuns: Example = {
  query: { status: ['completed', 'failed'], from: '2026-02-01T00:00:00Z', limit: 10 },
  reply: {
    runs: [
      {
        run_id: exampleIds.run,
        thread_id: exampleIds.thread,
        thread_title: 'What is 6 times 7?',
        agent: 'default',
        status: 'completed',
        created_at: '2026-02-05T12:00:00.000Z',
        updated_at: '2026-02-05T12:00:00.000Z',
        started_at: '2026-02-05T12:00:00.000Z',
        ended_at: '2026-02-05T12:00:00.000Z',
        iterations: 1,
        recursion_limit_reached: false,
      },
    ],
    has_more: false,
  },
};

export const countRuns: Example = {
  query: { from: '2026-02-01T00:00:00Z', agent: 'default', timezone: 'Europe/Berlin' },
  reply: {
    total: 3,
    counts: { completed: 2, failed: 1 },
    days: [
      { day: '2026-02-04', total: 1, counts: { completed: 1 } },
      { day: '2026-02-05', total: 2, counts: { completed: 1, failed: 1 } },
    ],
    timezone: 'Europe/Berlin',
    duration_ms: { median: 4200, p95: 38_000 },
  },
};

export const listRuns: Example = {
  params: { thread_id: exampleIds.thread },
  query: { limit: 10 },
  reply: {
    runs: [
      {
        run_id: exampleIds.run,
        thread_id: exampleIds.thread,
        thread_title: 'What is 6 times 7?',
        agent: 'default',
        status: 'completed',
        created_at: '2026-02-05T12:00:00.000Z',
        updated_at: '2026-02-05T12:00:00.000Z',
        started_at: '2026-02-05T12:00:00.000Z',
        ended_at: '2026-02-05T12:00:00.000Z',
        iterations: 1,
        recursion_limit_reached: false,
      },
    ],
    has_more: false,
  },
};
