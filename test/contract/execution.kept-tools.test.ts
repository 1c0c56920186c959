import test from 'ava';
import { END, START, StateGraph, toolNode } from '@agent-workflow/graph';
import { textOf } from '@agent-workflow/protos/message';
import { invoke } from './execution/calls.ts';
import { user } from './execution/messages.ts';
import { asked, withTools } from './execution/tool-calls.ts';
import { openReplicas } from './replicas.ts';

/** Calls `add`, which the graph does not have. */
const without = new StateGraph({})
  .addNode('agent', (_state, { emit }) => {
    emit({ type: 'tool_call', id: 'before', name: 'add', args: {}, tool_type: 'function' });
  })
  .addNode('tools', toolNode([]))
  .addEdge(START, 'agent')
  .addEdge('agent', 'tools')
  .addEdge('tools', END)
  .compile();

test('a kept tool of the caller gives way to one of its name that the graph has since', async (t) => {
  await using replicas = await openReplicas();
  const before = await replicas.open({ graph: without });
  const first = await invoke(before.execution, { threadId: 't1', tools: [asked('add')] });
  t.is(first.meta.status, 'interrupted');
  await before.drain(1000);
  const since = await replicas.open({ graph: withTools });
  const second = await invoke(since.execution, { threadId: 't1', messages: [user('call add')] });
  t.is(second.meta.status, 'completed');
  t.deepEqual(second.messages.map(textOf), ['result 5']);
});
