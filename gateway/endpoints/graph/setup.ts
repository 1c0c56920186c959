import { SetUp, SetupInput } from '../../schemas/graph.ts';
import { endpoint } from '../common/services.ts';
import { boundedTools, toRemoteTool } from '../runs/run-request.ts';

/** Declares the tools that the caller runs, for the runs that the same owner starts within a day; replaces those before. */
export const setUpTools = endpoint({
  name: 'setUpTools',
  tag: 'graph',
  summary: 'Declare tools that the caller runs, for the runs of a day',
  method: 'POST',
  path: '/v1/graph/setup',
  access: { resource: 'graph', action: 'invoke' },
  input: SetupInput,
  reply: SetUp,
  handle: async ({ input, owner, call }, { execution, tools: shelf }) => {
    const tools = boundedTools(input.tools.map(toRemoteTool));
    await execution.checkTools({ tools }, call());
    await shelf.put(owner, tools);
    const message = `${String(tools.length)} ${tools.length === 1 ? 'tool' : 'tools'} set up`;
    return JSON.stringify({
      success: true,
      message,
      registered_tools: tools.length,
      tools: tools.map(({ name }) => name),
    });
  },
});
