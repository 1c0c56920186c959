import { undefinedIfNotFound, isServiceError } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Call } from '@agent-workflow/protos/call';
import type { CountOpenRunsReply, Agent as DescribedAgent } from '@agent-workflow/protos/execution';
import { unservedWarning } from '@agent-workflow/protos/routing';
import type { AgentCalls, RegisteredAgent, RevisionDefinition } from '@agent-workflow/protos/threads';
import { jsonText, jsonObject, textOrNull } from '../../../http/json.ts';
import * as examples from '../examples/agents.ts';
import { AgentList, Agent, AgentParams, AgentRegistration, SetRoutingInput, RevisionParams } from '../schemas/graph.ts';
import { endpoint } from './common/endpoint.ts';
import { loadOf } from './revision-loads.ts';
import { schemaReply } from './graph.ts';

/** The revisions of a registered agent and where new runs go, as replies show them; with their runs and workers where these are counted. */
const toRevisions = (
  { agent, routing, revisions }: RegisteredAgent,
  counted?: CountOpenRunsReply,
): Record<string, unknown> => ({
  routing: {
    version: routing.version,
    current: routing.current ?? null,
    ...(routing.ramping && { ramping: routing.ramping }),
  },
  revisions: revisions.map((registered) => {
    const { state, openRuns, workers } = loadOf(agent, registered, counted);
    return {
      ...{ revision: registered.revision, state, percent: registered.percent },
      registered_at: new Date(registered.registeredAt).toISOString(),
      ...(openRuns === undefined ? {} : { open_runs: openRuns }),
      ...(workers === undefined ? {} : { workers }),
    };
  }),
});

/** A registered agent as the reply to a change of it, with its runs and workers where these are counted. */
function registrationText(agent: RegisteredAgent, counted?: CountOpenRunsReply): string {
  const warnings = unservedRevisions(agent, counted).map(unservedWarning);
  const text = { name: agent.agent, ...toRevisions(agent, counted) };
  return JSON.stringify(warnings.length > 0 ? { ...text, warnings } : text);
}

/** The revisions to which new runs go and that are known to have no worker. */
const unservedRevisions = (
  { agent, revisions }: RegisteredAgent,
  counted: CountOpenRunsReply | undefined,
): readonly string[] =>
  revisions
    .filter((registered) => registered.percent > 0 && loadOf(agent, registered, counted).workers === 0)
    .map(({ revision }) => revision);

/** What is registered of an agent; `undefined` where nothing is. */
async function registeredAgent(
  threads: Pick<AgentCalls, 'getRegisteredAgent'>,
  agent: string,
  call: Call,
): Promise<RegisteredAgent | undefined> {
  return undefinedIfNotFound(threads.getRegisteredAgent({ agent }, call));
}

/** The agents of the service. */
export const listAgents = endpoint({
  name: 'listAgents',
  tag: 'graph',
  summary: 'List the agents',
  description:
    'The agents of the service. A request names one in `config.agent`. A service whose agent has no name lists it as `default`, and one without an agent lists none.',
  example: examples.listAgents,
  method: 'GET',
  path: '/v1/agents',
  access: { resource: 'graph', action: 'read' },
  reply: AgentList,
  handle: async ({ call }, { execution, threads, log }) => {
    const [held, registered, counted] = await Promise.all([
      execution.listAgents({}, call()),
      threads.listRegisteredAgents({}, call()),
      execution.countOpenRuns({}, call()),
    ]);
    const byName = new Map(registered.agents.map((agent) => [agent.agent, agent]));
    const others = registered.agents.filter(({ agent }) => !held.agents.some(({ name }) => name === agent));
    const agents = [
      ...held.agents.map(({ name, description = null, isDefault, toolsJson }) => {
        const known = byName.get(name);
        const item = { name, description, is_default: isDefault, tools: toolNames(toolsJson) };
        return known ? { ...item, ...toRevisions(known, counted) } : item;
      }),
      ...(
        await Promise.all(
          others.map(async (other) => {
            const { agent: name, description = null } = other;
            const { toolsJson } = await threads.getRevision({ agent: name }, call());
            try {
              const tools = toolNames(toolsJson);
              return [{ name, description, is_default: false, tools, ...toRevisions(other, counted) }];
            } catch (error) {
              if (isFirstOfAgent(name))
                log.error(
                  { err: error, agent: name },
                  'an agent is left out of the list: its definition cannot be read',
                );
              return [];
            }
          }),
        )
      ).flat(),
    ];
    return JSON.stringify({ agents: agents.toSorted(defaultFirst) });
  },
});

/** An agent that cannot be read is logged once in ten minutes, however often the list is asked for. */
const isFirstOfAgent = createFirstOfKind({ silentMs: 10 * 60_000, max: 1000 });

const toolNames = (toolsJson: Uint8Array): readonly string[] =>
  (JSON.parse(jsonText(toolsJson)) as readonly { readonly name: string }[]).map((tool) => tool.name);

interface Ordered {
  readonly name: string;
  readonly is_default: boolean;
}

const defaultFirst = (a: Ordered, b: Ordered): number =>
  Number(b.is_default) - Number(a.is_default) || (a.name < b.name ? -1 : 1);

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

/** Says which revisions of an agent serve its threads. */
export const setAgentRouting = endpoint({
  name: 'setAgentRouting',
  tag: 'graph',
  summary: 'Say which revisions of an agent serve',
  description:
    'Makes a registered revision the current one, and may let another serve a share. 409 when the routing has another version than the one named, which the message names, or when a revision is retired; 404 when the agent or a revision is not registered. A revision may have no workers yet: `warnings` then says that its runs wait. Without an authorization backend it is 403, unless the service listens on this machine alone.',
  example: examples.setAgentRouting,
  method: 'PUT',
  path: '/v1/agents/{agent}/routing',
  access: { resource: 'agents', action: 'deploy' },
  params: AgentParams,
  input: SetRoutingInput,
  reply: AgentRegistration,
  handle: async ({ params, input: { version, current, ramping }, call }, { execution, threads, log }) => {
    const agent = await threads.routeAgent({ ...params, version, current, ...(ramping ? { ramping } : {}) }, call());
    // The routing is stored already, so where the count takes too long the reply comes without it.
    const counted = await execution.countOpenRuns({}, withinCount(call())).catch(() => undefined);
    const revisions = unservedRevisions(agent, counted);
    if (revisions.length > 0)
      log.warn({ agent: agent.agent, revisions }, 'runs are routed to revisions that have no worker');
    return registrationText(agent, counted);
  },
});

/** How long the reply waits for the count, in milliseconds. */
const countMs = 2000;

const withinCount = (call: Call): Call => ({ ...call, deadline: Math.min(call.deadline, Date.now() + countMs) });

/** Takes a revision of an agent out of use. */
export const retireRevision = endpoint({
  name: 'retireRevision',
  tag: 'graph',
  summary: 'Retire a revision of an agent',
  description:
    'Takes a revision out of use for good. Its runs without a step move to the revision that new runs go to; those with steps fail and say why. 409 while it is the current or the ramping one; 404 when it is not registered. A second request changes nothing. Without an authorization backend it is 403, unless the service listens on this machine alone.',
  example: examples.retireRevision,
  method: 'POST',
  path: '/v1/agents/{agent}/revisions/{revision}/retire',
  access: { resource: 'agents', action: 'deploy' },
  params: RevisionParams,
  reply: AgentRegistration,
  handle: async ({ params, call }, { threads }) => registrationText(await threads.retireRevision(params, call())),
});
