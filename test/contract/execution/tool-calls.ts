import { END, remoteTool, START, StateGraph, tool, toolNode, type Message } from '@agent-workflow/graph';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import { passGate } from './gates.ts';
import { turns } from './graphs.ts';
import { json, lastUser } from './messages.ts';

export const adder = tool(
  {
    name: 'add',
    description: 'Adds',
    parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
  },
  ({ a }) => a + 3,
);
const locate = remoteTool({ name: 'locate', description: 'Where', parameters: { type: 'object', properties: {} } });

/** Calls the tools that the user names, then emits their results. */
export const withTools = new StateGraph({ turns })
  .addNode('agent', async (state, ctx) => {
    await passGate(state.context, ctx);
    const request = lastUser(state.context);
    const results = state.context
      .slice(state.context.findLastIndex(({ role }) => role === 'user'))
      .flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
    if (results.length > 0) ctx.emit(`result ${results.map((block) => String(block['output'])).join(' ')}`);
    else if (!request.startsWith('call ')) ctx.emit(`you said ${request}`);
    else {
      for (const [index, name] of request.split(' ').slice(1).entries())
        ctx.emit({ type: 'tool_call', id: `c${String(index + 1)}`, name, args: { a: 2 }, tool_type: 'function' });
    }
    return { turns: 1 };
  })
  .addNode('tools', toolNode([adder, locate]))
  .addEdge(START, 'agent')
  .addConditionalEdges(
    'agent',
    (state) => (state.context.at(-1)?.content.some(({ type }) => type.endsWith('tool_call')) ? 'tools' : END),
    ['tools', END],
  )
  .addEdge('tools', 'agent')
  .compile();

/** A tool that the caller runs. */
export function asked(name = 'ask'): RemoteTool {
  return { nodeName: '', name, description: 'Asks', parametersJson: json({ type: 'object', properties: {} }) };
}

export const callsIn = (messages: readonly Message[]): unknown[][] =>
  messages.flatMap(({ content }) => content.map((block) => [block.type, block['id'], block['name']]));
