import { fileURLToPath } from 'node:url';
import { createReactAgent, textOf } from '@agent-workflow/graph';
import { mcpTools } from '@agent-workflow/graph/mcp';
import { fakeModel } from '@agent-workflow/graph/testing';

const server = fileURLToPath(new URL('../servers/mcp-stdio.ts', import.meta.url));
export const tools = await mcpTools({ command: process.execPath, args: [server] });

/** Calls the tool of an MCP server that the user names, and repeats its result. */
export const graph = createReactAgent({
  model: fakeModel(({ messages }) => {
    const last = messages.at(-1);
    const [block] = last?.content ?? [];
    if (last?.role === 'tool') return JSON.stringify(block?.['output']);
    return { call: last ? textOf(last) : '' };
  }),
  tools,
});
