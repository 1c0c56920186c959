import { sizes } from '@agent-workflow/kit/sizes';
import type { RemoteTool, StartRequest } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import { idText } from '@agent-workflow/protos/message';
import { invalidAt } from '../../http/fields.ts';
import { jsonBytes } from '../../http/json.ts';
import { boundedBytes, metadataBytes, tooLarge } from '../common/bounded.ts';
import type { RunInput } from '../../schemas/graph.ts';
import type { Ask } from '../../http/endpoint.ts';
import type { Services } from '../common/services.ts';
import { toEntries } from '../messages/incoming-messages.ts';
import { configOf } from './run-config.ts';

/** The body of invoke and stream as a run to start. */
export async function toStartRequest(
  { input, owner, user, requestId, newId, once, at }: Ask<unknown, RunInput>,
  granularity: Granularity,
  { tools: shelf, secured }: Pick<Services, 'tools' | 'secured'>,
): Promise<StartRequest> {
  const { config, initial_state: initialState, tools = [], resume } = input;
  if (input.messages.length === 0 && resume === undefined) {
    throw invalidAt(['body', 'messages'], 'must hold a message, unless resume is given', 'too_short');
  }
  const thread = config && threadOf(config);
  // What the claims add is not the caller's: it has a bound of its own.
  if (config) boundedBytes(config, ['body', 'config'], sizes.metadata);
  const nodeConfig = configOf(config, { owner, ...(user && { user }) }, secured);
  return {
    owner,
    requestId,
    runId: newId('run'),
    runIdIsNew: once.onceKey === undefined,
    messages: toEntries(input.messages, newId, at),
    tools: boundedTools(mergeTools(tools.map(toRemoteTool), await shelf.get(owner))),
    recursionLimit: input.recursion_limit,
    granularity: input.response_granularity ?? granularity,
    multitaskStrategy: config?.multitask_strategy ?? 'enqueue',
    // Without a name the thread is new; done again, at another replica too, the request means the thread that it made.
    ...(config?.thread_id === undefined && { threadId: newId('thread'), threadIdIsNew: once.onceKey === undefined }),
    ...thread,
    ...(nodeConfig && { configJson: jsonBytes(nodeConfig) }),
    ...(initialState && { initialStateJson: boundedBytes(initialState, ['body', 'initial_state'], sizes.state) }),
    ...(resume !== undefined && { resumeJson: boundedBytes(resume, ['body', 'resume'], sizes.resume) }),
    ...(user && { userJson: jsonBytes(user) }),
  };
}

function threadOf(config: NonNullable<RunInput['config']>): Partial<StartRequest> {
  const { thread_id: threadId, thread_name: threadName, metadata } = config;
  return {
    ...(threadId !== undefined && { threadId: idText(threadId) }),
    ...(threadName !== undefined && { threadName }),
    ...(metadata && { threadMetadataJson: metadataBytes(metadata, ['body', 'config', 'metadata']) }),
  };
}

/** @throws Invalid when the tools of one run are too large together. */
export function boundedTools(tools: readonly RemoteTool[]): readonly RemoteTool[] {
  const bytes = tools.reduce(
    (sum, { name, nodeName, description, parametersJson }) =>
      sum + Buffer.byteLength(name + nodeName + description) + parametersJson.length,
    0,
  );
  if (bytes > sizes.toolsTogether) throw tooLarge(['body', 'tools'], sizes.toolsTogether);
  return tools;
}

/** The request's own tools come first: one that was set up under the same name stands back. */
const mergeTools = (own: readonly RemoteTool[], kept: readonly RemoteTool[]): readonly RemoteTool[] =>
  kept.length === 0 ? own : [...own, ...kept.filter(({ name }) => !own.some((tool) => tool.name === name))];

export const toRemoteTool = (tool: NonNullable<RunInput['tools']>[number]): RemoteTool => ({
  nodeName: tool.node_name ?? '',
  name: tool.name,
  description: tool.description ?? '',
  parametersJson: jsonBytes(tool.parameters ?? { type: 'object', properties: {} }),
});
