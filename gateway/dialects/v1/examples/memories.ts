import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const storeMemory: Example = {
  body: {
    content: 'Ada prefers tea.',
    memory_type: 'semantic',
    category: 'taste',
    metadata: { importance: 0.8 },
    config: { thread_id: exampleIds.thread },
  },
  reply: { memory_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30' },
};

export const storeMemories: Example = {
  body: {
    memories: [
      { content: 'Refunds above 500 EUR need a manager.', memory_type: 'semantic', category: 'refunds', key: 'page 1' },
      { content: 'The shop opens at nine.', memory_type: 'semantic', category: 'shop', key: 'page 2' },
    ],
  },
  reply: {
    memories: [
      { memory_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30', created: true },
      { memory_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f31', created: false },
    ],
  },
};

export const searchMemories: Example = {
  body: { query: 'What does Ada drink?', retrieval_strategy: 'hybrid', limit: 1 },
  reply: {
    results: [
      {
        id: exampleIds.memory,
        content: 'Ada prefers tea.',
        score: 0.779786402420386,
        memory_type: 'semantic',
        category: 'taste',
        metadata: { importance: 0.8 },
        vector: [0.6, -0.8],
        user_id: '',
        thread_id: exampleIds.thread,
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
  },
};

export const listMemories: Example = {
  query: { memory_type: 'semantic', config: { thread_id: exampleIds.thread }, limit: 10 },
  reply: {
    memories: [
      {
        id: exampleIds.memory,
        content: 'Ada prefers tea.',
        score: 1,
        memory_type: 'semantic',
        category: 'taste',
        metadata: { importance: 0.8 },
        vector: [0.6, -0.8],
        user_id: '',
        thread_id: exampleIds.thread,
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
    total: 1,
    has_more: false,
  },
};

export const forgetMemories: Example = {
  body: { category: 'taste', filters: { importance: { $lt: 0.9 } } },
  reply: { success: true, deleted_count: 1, memory_ids: [exampleIds.memory], has_more: false },
};

export const getMemory: Example = {
  params: { memory_id: exampleIds.memory },
  reply: {
    memory: {
      id: exampleIds.memory,
      content: 'Ada prefers tea.',
      score: 1,
      memory_type: 'semantic',
      category: 'taste',
      metadata: { importance: 0.8 },
      vector: [0.6, -0.8],
      user_id: '',
      thread_id: exampleIds.thread,
      timestamp: '2026-02-05T12:00:00.000Z',
    },
  },
};

export const updateMemory: Example = {
  params: { memory_id: exampleIds.memory },
  body: { content: 'Ada prefers green tea.', metadata: { importance: 0.9 } },
  reply: {
    memory: {
      id: exampleIds.memory,
      content: 'Ada prefers green tea.',
      score: 1,
      memory_type: 'semantic',
      category: 'taste',
      metadata: { importance: 0.9 },
      vector: [0.6, -0.8],
      user_id: '',
      thread_id: exampleIds.thread,
      timestamp: '2026-02-05T12:00:00.000Z',
    },
    success: true,
  },
};

export const deleteMemory: Example = { params: { memory_id: exampleIds.memory }, reply: { success: true } };
