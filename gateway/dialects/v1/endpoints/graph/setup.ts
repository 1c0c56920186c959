import { SetUp, SetupInput } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import { agentOf } from '../common/named-agent.ts';
import { boundedTools, toRemoteTool } from '../runs/run-request.ts';
import * as examples from './examples.ts';

/** Declares the tools that the caller runs, for all runs that the owner starts within a day; replaces the list before. */
export const setUpTools = endpoint({
  name: 'setUpTools',
  tag: 'graph',
  summary: 'Declare tools that the caller runs, for the runs of a day',
  description:
    'Declares tools that the caller runs, for all runs that the same owner starts within 24 hours. Replaces the list that was set up before; an empty list removes it. Runs that have started keep their tools.',
  example: examples.setUpTools,
  method: 'POST',
  path: '/v1/graph/setup',
  isOfAgent: true,
  access: { resource: 'graph', action: 'invoke' },
  input: SetupInput,
  reply: SetUp,
  handle: async ({ input, owner, call }, { execution, tools: toolStore }) => {
    const tools = boundedTools(input.tools.map(toRemoteTool));
    await execution.checkTools({ tools, ...agentOf(input.config ?? {}) }, call());
    await toolStore.put(owner, tools);
    const message = `${String(tools.length)} ${tools.length === 1 ? 'tool' : 'tools'} set up`;
    return JSON.stringify({
      success: true,
      message,
      registered_tools: tools.length,
      tools: tools.map(({ name }) => name),
    });
  },
});
