import type { TestFn } from 'ava';
import { callsTools, END, START, StateGraph, textOf, toolNode } from '@agent-workflow/graph';
import { invoke, logOf } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { lastUser, user } from './messages.ts';
import { adder, withTools } from './tool-calls.ts';

/** Tools that run inside the graph. */
export function serverToolTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check(
    'server tools are called and their results are part of what the run added',
    withTools,
    async (t, { execution }) => {
      const data = await invoke(execution, { messages: [user('call add')] });
      t.deepEqual(
        data.all_messages.map(({ role, content }) => [role, content[0]?.type]),
        [
          ['assistant', 'tool_call'],
          ['tool', 'tool_result'],
          ['assistant', 'text'],
        ],
      );
      t.like(data.all_messages[1]?.content[0], { call_id: 'c1', output: 5, is_error: false, status: 'completed' });
      t.deepEqual(data.messages.map(textOf), ['result 5']);
      t.is(data.iterations, 2);
    },
  );

  check(
    'calls that the limit left open are cancelled by the next message',
    toolsFirst,
    async (t, { execution, threads }) => {
      const data = await invoke(execution, { threadId: 't1', recursionLimit: 1, messages: [user('call')] });
      t.like(data, { recursion_limit_reached: true, iterations: 1 });
      t.is(data.meta.status, 'completed');
      await invoke(execution, { threadId: 't1', messages: [user('hello')] });
      t.deepEqual(
        (await logOf(threads, 't1')).map(({ role, content }) => [role, content[0]?.type, content[0]?.['is_error']]),
        [
          ['user', 'text', undefined],
          ['assistant', 'tool_call', undefined],
          ['tool', 'tool_result', true],
          ['user', 'text', undefined],
          ['assistant', 'text', undefined],
        ],
      );
    },
  );
}

/** Reaches the limit of its tool node while a call is open. */
const toolsFirst = new StateGraph({})
  .addNode('tools', toolNode([adder]))
  .addNode('agent', (state, ctx) => {
    if (lastUser(state.context) === 'call') ctx.emit({ type: 'tool_call', id: 'c1', name: 'add', args: { a: 1 } });
    else ctx.emit('nothing to call');
  })
  .addEdge(START, 'tools')
  .addEdge('tools', 'agent')
  .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .compile();
