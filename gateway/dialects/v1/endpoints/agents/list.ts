import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { jsonText } from '../../../../http/json.ts';
import { AgentList } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import { toRevisions } from './registered.ts';
import * as examples from './examples.ts';

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
