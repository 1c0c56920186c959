import type { Static } from 'typebox';
import type { SetupInput } from '../schemas/graph.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { boundedTools, toRemoteTool } from './run-request.ts';

/** Declares the tools that the caller runs, for the runs that the same owner starts within a day; replaces those before. */
export async function setUpTools(
  { input, owner, call }: Ask<unknown, Static<typeof SetupInput>>,
  { execution, tools: shelf }: Services,
): Promise<string> {
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
}
