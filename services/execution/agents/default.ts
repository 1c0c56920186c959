import { callsTools, END, START, StateGraph, toolNode, type CompiledGraph } from '@agent-workflow/execution/graph';
import { processEnv } from '@agent-workflow/kit/env';
import { fields, type Think } from './default/fields.ts';
import { createModelBrain } from './default/model.ts';
import { offlineBrain } from './default/offline.ts';
import { readModelAccess } from './default/settings.ts';
import { tools } from './default/tools.ts';

/** The loop of an agent: think; run the tools that were asked for and think again; end when none was. */
export const createAgent = (think: Think): CompiledGraph =>
  new StateGraph(fields)
    .addNode('agent', think)
    .addNode('tools', toolNode(tools))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
    .addEdge('tools', 'agent')
    .compile();

const access = readModelAccess(processEnv());

/** What `npm start` serves: driven by a model when the environment names one, and by simple rules when it does not. */
export const graph = createAgent(access ? createModelBrain(access) : offlineBrain);
