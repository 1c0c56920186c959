import {
  callsTools,
  contextExceeds,
  END,
  START,
  StateGraph,
  summarizeNode,
  toolNode,
  type CompiledGraph,
} from '@agent-workflow/graph';
import { processEnv } from '@agent-workflow/kit/env';
import { fields, type Brain } from './default/fields.ts';
import { createModelBrain } from './default/model.ts';
import { offlineBrain } from './default/offline.ts';
import { readModelAccess, readSummarizeOver } from './default/settings.ts';
import { tools } from './default/tools.ts';

/**
 * The loop of an agent: think; run the tools that were asked for and think again; end when none was. A turn that finds more
 * than `summarizeOver` messages in the context begins with a summary of the older two thirds.
 */
export function createAgent({ think, summarize }: Brain, summarizeOver: number): CompiledGraph {
  const whenOver = { messages: summarizeOver };
  const keep = Math.ceil(summarizeOver / 3);
  return new StateGraph(fields)
    .addNode('summarize', summarizeNode({ whenOver, keep, summarize }))
    .addNode('agent', think)
    .addNode('tools', toolNode(tools))
    .addConditionalEdges(START, (state) => (contextExceeds(state, whenOver) ? 'summarize' : 'agent'), [
      'summarize',
      'agent',
    ])
    .addEdge('summarize', 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
    .addEdge('tools', 'agent')
    .compile();
}

const env = processEnv();
const access = readModelAccess(env);

/** What `npm start` serves: driven by a model when the environment names one, and by simple rules when it does not. */
export const graph = createAgent(access ? createModelBrain(access) : offlineBrain, readSummarizeOver(env));
