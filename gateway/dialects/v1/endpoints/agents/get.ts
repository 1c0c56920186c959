import { isServiceError } from '@agent-workflow/kit/errors';
import type { Agent as DescribedAgent, CountOpenRunsReply } from '@agent-workflow/protos/execution';
import type { RegisteredAgent, RevisionDefinition } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText, textOrNull } from '../../../../http/json.ts';
import { Agent, AgentParams } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import { schemaReply } from '../graph/schema-text.ts';
import { registeredAgent, toRevisions } from './registered.ts';
import * as examples from './examples.ts';

/** One agent with its tools, its graph and the fields of its state. */
export const getAgent = endpoint({
  name: 'getAgent',
  tag: 'graph',
  summary: 'Get an agent: its tools, its graph, the fields of its state',
  description: 'What a client needs to know of an agent before it runs it. 404 when there is no agent of this name.',
  example: examples.getAgent,
  method: 'GET',
  path: '/v1/agents/{agent}',
  access: { resource: 'graph', action: 'read' },
  params: AgentParams,
  reply: Agent,
  handle: async ({ params, call }, { execution, threads }) => {
    const known = await registeredAgent(threads, params.agent, call());
    const { name, description, isDefault, toolsJson, graph } = await execution
      .getAgent(params, call())
      .catch(async (error: unknown) => {
        if (!known || !isServiceError(error, 'NotFound')) throw error;
        return fromRegistry(known, await threads.getRevision(params, call()));
      });
    return jsonObject({
      ...{ name: JSON.stringify(name), description: textOrNull(description), is_default: String(isDefault) },
      tools: jsonText(toolsJson),
      ...(graph && { graph: jsonText(graph.graphJson), state_schema: schemaReply(graph.fieldsJson) }),
      ...(known && revisionTexts(known, await execution.countOpenRuns({}, call()))),
    });
  },
});

/** An agent that no process behind this one holds, as it is registered. */
const fromRegistry = (
  { agent: name, description }: RegisteredAgent,
  { graphJson, fieldsJson, toolsJson }: RevisionDefinition,
): DescribedAgent => ({
  ...{ name, isDefault: false, toolsJson, graph: { graphJson, fieldsJson } },
  ...(description === undefined ? {} : { description }),
});

/** The same as JSON texts, by key. */
const revisionTexts = (agent: RegisteredAgent, counted: CountOpenRunsReply): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(toRevisions(agent, counted)).map(([key, value]) => [key, JSON.stringify(value)]));
