import { ConfigError } from '@agent-workflow/kit/env';
import { followWarnings } from '@agent-workflow/kit/warnings';
import { inFile, loadExport, misnamed, type Named } from '@agent-workflow/runtime/load';
import type { ServiceFile } from '@agent-workflow/runtime/service-file';
import { namedAgents, unnamedAgent, type Agents } from '../record/agents.ts';
import { codeOrigins } from '../watchdog/code.ts';
import { isCompiledGraph, isOfLangGraph, type CompiledGraph } from '@agent-workflow/graph/build/graph';

/**
 * Loads the agents that `service.json` names. `onWarning` gets a line for each package of theirs that changes built-in objects, and
 * for each tool of a server that was set aside.
 * @throws ConfigError: one line that says what is wrong and where.
 */
export async function loadAgents(
  { agent, agents, defaultAgent, folder }: Pick<ServiceFile, 'agent' | 'agents' | 'defaultAgent' | 'folder'>,
  onWarning?: Named['onChanged'],
): Promise<Agents> {
  if (agent === undefined && !agents && defaultAgent !== undefined)
    throw new ConfigError('service.json: default_agent names one of agents, and there are none');
  using _warnings = onWarning && followWarnings(onWarning);
  if (!agents)
    return unnamedAgent(
      agent === undefined
        ? undefined
        : await loadAgent({ what: 'agent', location: agent, folder, onChanged: onWarning }),
    );
  const loaded = [];
  // One after the other, so that the first that is wrong is the one that is reported.
  for (const { name, location, description } of agents) {
    const graph = await loadAgent({ what: `agents.${name}`, location, folder, onChanged: onWarning });
    loaded.push({ name, graph, ...(description === undefined ? {} : { description }) });
  }
  return namedAgents(loaded, defaultAgent);
}

/**
 * Loads the graph that `service.json` names as `<module>:<object>`: a file relative to its folder, TypeScript or JavaScript,
 * or a package that is installed there.
 * @throws ConfigError: one line that says what is wrong and where.
 */
async function loadAgent(named: Named): Promise<CompiledGraph> {
  const { location } = named;
  const graph = await codeOrigins.run({}, async () => loadExport(named));
  if (isCompiledGraph(graph)) return graph;
  const name = location.slice(location.lastIndexOf(':') + 1);
  const why = isOfLangGraph(graph)
    ? 'is a graph of LangGraph.js: give it to fromLangGraph() of @agent-workflow/langgraph'
    : 'is not a compiled graph (is .compile() missing?)';
  throw misnamed(named, `"${name}" ${why}${inFile(named, name)}`);
}
