import { sizes } from '@agent-workflow/kit/sizes';
import type { RemoteTool, StartRequest } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import { idText } from '@agent-workflow/protos/message';
import { bytesOfTools } from '@agent-workflow/protos/remote-tools';
import { jsonBytes } from '../../../../http/json.ts';
import { agentOf } from '../common/named-agent.ts';
import { boundedBytes, metadataBytes, tooLarge } from '../common/bounded.ts';
import type { RunInput } from '../../schemas/graph.ts';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import type { Services } from '../../../common/services.ts';
import { toEntries } from '../messages/incoming-messages.ts';
import { declaredTools } from './declared-tools.ts';
import { configOf } from './run-config.ts';

/** The body of invoke, stream and `POST /v1/runs` as a run to start. */
export async function toStartRequest(
  { input, owner, user, agent, requestId, newId, idempotency, at }: EndpointRequest<unknown, RunInput>,
  granularity: Granularity,
  { tools: toolStore, secured }: Pick<Services, 'tools' | 'secured'>,
): Promise<StartRequest> {
  const { config, initial_state: initialState, resume } = input;
  const thread = config && threadOf(config);
  // The claims are not part of this bound: they have one of their own.
  if (config) boundedBytes(config, ['body', 'config'], sizes.metadata);
  const nodeConfig = configOf(config, { owner, ...(user && { user }) }, secured);
  return {
    owner,
    requestId,
    runId: newId('run'),
    runIdIsNew: idempotency.onceKey === undefined,
    messages: toEntries(input.messages, newId, at),
    tools: boundedTools(
      mergeTools(
        declaredTools(input).map(({ tool }) => toRemoteTool(tool)),
        await toolStore.get(owner),
      ),
    ),
    recursionLimit: input.recursion_limit,
    granularity: input.response_granularity ?? granularity,
    multitaskStrategy: config?.multitask_strategy ?? 'enqueue',
    // Without an id the thread is new; a repeated idempotent request gets the same id, at another replica too.
    ...(config?.thread_id === undefined && {
      threadId: newId('thread'),
      threadIdIsNew: idempotency.onceKey === undefined,
    }),
    ...thread,
    // For another agent than this the caller may not be authorized.
    ...(agent !== undefined && { agent }),
    ...(nodeConfig && { configJson: jsonBytes(nodeConfig) }),
    ...(initialState && { initialStateJson: boundedBytes(initialState, ['body', 'initial_state'], sizes.state) }),
    ...(resume !== undefined && { resumeJson: boundedBytes(resume, ['body', 'resume'], sizes.resume) }),
    ...(user && { userJson: jsonBytes(user) }),
  };
}

function threadOf(config: NonNullable<RunInput['config']>): Partial<StartRequest> {
  const { thread_id: threadId, thread_name: threadName, metadata } = config;
  return {
    ...agentOf(config),
    ...(threadId !== undefined && { threadId: idText(threadId) }),
    ...(threadName !== undefined && { threadName: threadName.toWellFormed() }),
    ...(metadata && { threadMetadataJson: metadataBytes(metadata, ['body', 'config', 'metadata']) }),
  };
}

type Tool = NonNullable<RunInput['tools']>[number];

/** @throws Invalid when the tools of one run are too large together. */
export function boundedTools(tools: readonly RemoteTool[]): readonly RemoteTool[] {
  const bytes = bytesOfTools(tools);
  if (bytes > sizes.toolsTogether) throw tooLarge(['body', 'tools'], bytes, sizes.toolsTogether);
  return tools;
}

/** The request's own tools come first and replace those of the same name that were set up. */
const mergeTools = (own: readonly RemoteTool[], setUp: readonly RemoteTool[]): readonly RemoteTool[] =>
  setUp.length === 0
    ? own
    : [
        ...own,
        ...setUp
          .filter(({ name }) => !own.some((tool) => tool.name === name))
          .map((tool) => ({ ...tool, isSetUp: true })),
      ];

export const toRemoteTool = (tool: Tool): RemoteTool => ({
  nodeName: tool.node_name ?? '',
  name: tool.name,
  description: tool.description ?? '',
  parametersJson: jsonBytes(tool.parameters ?? { type: 'object', properties: {} }),
});
