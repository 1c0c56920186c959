import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const getGraph: Example = {
  reply: {
    graph: {
      nodes: [
        { id: '__start__', type: 'start' },
        { id: 'summarize', type: 'node' },
        { id: 'agent', type: 'node' },
        { id: 'tools', type: 'tools' },
        { id: '__end__', type: 'end' },
      ],
      edges: [
        { source: 'summarize', target: 'agent', conditional: false },
        { source: 'tools', target: 'agent', conditional: false },
        { source: '__start__', target: 'summarize', conditional: true },
        { source: '__start__', target: 'agent', conditional: true },
        { source: 'agent', target: 'tools', conditional: true },
        { source: 'agent', target: '__end__', conditional: true },
      ],
      mermaid:
        'graph TD\n  n0["__start__"]\n  n1["summarize"]\n  n2["agent"]\n  n3["tools"]\n  n4["__end__"]\n  n1 --> n2\n  n3 --> n2\n  n0 -.-> n1\n  n0 -.-> n2\n  n2 -.-> n3\n  n2 -.-> n4',
    },
    info: {
      node_count: 5,
      edge_count: 6,
      checkpointer: true,
      checkpointer_type: 'threads',
      publisher: false,
      store: true,
      interrupt_before: [],
      interrupt_after: [],
      context_type: 'messages',
      id_generator: 'uuid7',
      id_type: 'string',
      state_type: 'object',
      state_fields: ['user_name', 'context', 'context_summary'],
    },
    nodes: [
      { id: '__start__', type: 'start', name: '__start__' },
      { id: 'summarize', type: 'node', name: 'summarize' },
      { id: 'agent', type: 'node', name: 'agent' },
      { id: 'tools', type: 'tools', name: 'tools' },
      { id: '__end__', type: 'end', name: '__end__' },
    ],
    edges: [
      { id: 'edge-1', source: 'summarize', target: 'agent', conditional: false },
      { id: 'edge-2', source: 'tools', target: 'agent', conditional: false },
      { id: 'edge-3', source: '__start__', target: 'summarize', conditional: true },
      { id: 'edge-4', source: '__start__', target: 'agent', conditional: true },
      { id: 'edge-5', source: 'agent', target: 'tools', conditional: true },
      { id: 'edge-6', source: 'agent', target: '__end__', conditional: true },
    ],
  },
};

export const getStateSchema: Example = {
  reply: {
    fields: {
      user_name: { type: 'string', description: 'What the agent calls the user', default: '' },
      context: { type: 'array', description: 'Messages that the model sees', default: [] },
      context_summary: { type: 'string', description: 'Summary of what the context no longer holds', default: '' },
    },
    type: 'object',
    properties: {
      user_name: { type: 'string', description: 'What the agent calls the user', default: '' },
      context: { type: 'array', description: 'Messages that the model sees', default: [] },
      context_summary: { type: 'string', description: 'Summary of what the context no longer holds', default: '' },
    },
    required: [],
  },
};

export const invokeGraph: Example = {
  body: {
    messages: [{ role: 'user', content: 'What is 6 times 7?' }],
    config: { thread_id: exampleIds.thread },
    response_granularity: 'low',
    recursion_limit: 10,
  },
  reply: {
    messages: [
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
        role: 'assistant',
        content: [{ type: 'text', text: '6 * 7 = 42' }],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
    all_messages: [
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f31',
        role: 'assistant',
        content: [
          {
            type: 'tool_call',
            id: 'a8aaa47f-ddf6-4a7c-90a1-3fb809f8d35e',
            tool_type: 'function',
            name: 'calculate',
            args: { expression: '6 * 7' },
          },
        ],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f32',
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            call_id: 'a8aaa47f-ddf6-4a7c-90a1-3fb809f8d35e',
            output: 42,
            status: 'completed',
            is_error: false,
          },
        ],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
      {
        message_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
        role: 'assistant',
        content: [{ type: 'text', text: '6 * 7 = 42' }],
        timestamp: '2026-02-05T12:00:00.000Z',
      },
    ],
    iterations: 2,
    recursion_limit_reached: false,
    metadata: {
      message: 'completed',
      request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f33',
      timestamp: '2026-02-05T12:00:00.000Z',
    },
    meta: {
      thread_id: exampleIds.thread,
      run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f34',
      is_new_thread: false,
      status: 'completed',
    },
  },
};

export const streamGraph: Example = {
  body: { messages: [{ role: 'user', content: 'What is 6 times 7?' }], config: { thread_id: exampleIds.thread } },
  reply: {
    event: 'metadata',
    data: {
      request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
      thread_id: exampleIds.thread,
      run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f31',
      is_new_thread: false,
    },
    thread_id: exampleIds.thread,
    run_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f31',
    metadata: {
      request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
      thread_id: exampleIds.thread,
      is_new_thread: false,
    },
    timestamp: '2026-02-05T12:00:00.000Z',
  },
};

export const stopThread: Example = {
  body: { thread_id: exampleIds.thread },
  reply: { success: false, thread_id: exampleIds.thread, run_id: null, status: 'idle', message: 'nothing is running' },
};

export const setUpTools: Example = {
  body: {
    tools: [
      {
        name: 'get_place',
        description: 'Where the user is',
        parameters: { type: 'object', properties: { precise: { type: 'boolean' } } },
      },
    ],
  },
  reply: { success: true, message: '1 tool set up', registered_tools: 1, tools: ['get_place'] },
};

export const fixThread: Example = {
  body: { thread_id: exampleIds.thread },
  reply: {
    success: true,
    message: 'nothing was broken',
    removed_count: 0,
    agent: 'default',
    checkpoint_id: '2',
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
