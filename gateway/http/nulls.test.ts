import test from 'ava';
import { RunInput, SetupInput } from '../dialects/v1/schemas/graph.ts';
import { ForgetMemories, SearchMemories, StoreMemory } from '../dialects/v1/schemas/memories.ts';
import { AddMessages } from '../dialects/v1/schemas/messages.ts';
import { StopInput } from '../dialects/v1/schemas/runs.ts';
import { DeleteInput, UpdateState } from '../dialects/v1/schemas/threads.ts';
import { nullRemover } from './nulls.ts';

/** What is left of a value. */
function left(schema: Parameters<typeof nullRemover>[0], value: unknown): unknown {
  nullRemover(schema)?.(value);
  return value;
}

test('null for an optional field that a schema names is its absence, also further in', (t) => {
  const config = {
    thread_id: null,
    thread_name: null,
    metadata: null,
    multitask_strategy: null,
    on_disconnect: null,
    mine: null,
  };
  const message = { message_id: null, role: 'user', content: 'x', metadata: null, tools_calls: null, timestamp: null };
  const run = {
    messages: [message],
    initial_state: null,
    config,
    recursion_limit: null,
    response_granularity: null,
    tools: [{ name: 'x', node_name: null, description: null, parameters: null }],
  };
  t.deepEqual(left(RunInput, run), {
    messages: [{ message_id: null, role: 'user', content: 'x' }],
    config: { mine: null },
    tools: [{ name: 'x' }],
  });
  t.deepEqual(left(RunInput, { messages: [], config: null, tools: null }), { messages: [] });
  t.deepEqual(left(SetupInput, { tools: [{ name: 'x', parameters: null }] }), { tools: [{ name: 'x' }] });
  t.deepEqual(left(StopInput, { thread_id: null, config: { thread_id: null } }), { config: {} });
  t.deepEqual(left(DeleteInput, { config: null, options: null }), {});
  t.deepEqual(left(AddMessages, { messages: [], config: null, metadata: null }), { messages: [] });
  const search = {
    query: 'x',
    memory_type: null,
    category: null,
    limit: null,
    score_threshold: null,
    filters: null,
    retrieval_strategy: null,
    distance_metric: null,
    max_tokens: null,
    config: { thread_id: null },
    options: null,
  };
  t.deepEqual(left(SearchMemories, search), { query: 'x', config: {} });
});

test('null for what a block may lack is its absence, for a result it is a value', (t) => {
  const content = [
    { type: 'tool_result', call_id: 'a', output: null, status: null, is_error: null },
    { type: 'remote_tool_call', id: 'a', name: 'b', args: { c: null }, tool_type: null },
    { type: 'reasoning', text: null, summary: 's', details: null },
    { type: 'hologram', status: null },
  ];
  t.deepEqual(left(RunInput, { messages: [{ role: 'tool', content }] }), {
    messages: [
      {
        role: 'tool',
        content: [
          { type: 'tool_result', call_id: 'a', output: null },
          { type: 'remote_tool_call', id: 'a', name: 'b', args: { c: null } },
          { type: 'reasoning', summary: 's' },
          { type: 'hologram', status: null },
        ],
      },
    ],
  });
});

test('null stays where it is a value: an answer, and inside state, metadata, arguments and filters', (t) => {
  for (const [schema, value] of [
    [RunInput, { messages: [], resume: null }],
    [RunInput, { messages: [], initial_state: { a: null }, config: { metadata: { a: null } } }],
    [UpdateState, { config: {}, state: { a: null, thread_id: null } }],
    [ForgetMemories, { filters: { z: null } }],
    [
      StoreMemory,
      { content: 'x', memory_type: 'semantic', category: 'c', metadata: { z: null }, options: { a: null } },
    ],
  ] as const) {
    t.deepEqual(left(schema, structuredClone(value)), value);
  }
});

test('null for a required field stays, to be refused', (t) => {
  const value = { config: null, state: null };
  t.deepEqual(left(UpdateState, { ...value }), value);
  t.deepEqual(left(AddMessages, { messages: null }), { messages: null });
});
