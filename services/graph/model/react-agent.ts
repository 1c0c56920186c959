import { END, START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { requireTools, toolNode, type Tool } from '../build/tool.ts';
import type { NodePolicy } from '../build/policy.ts';
import { callsTools } from '../state/calls.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';
import {
  modelNode,
  requireValidInstructions,
  requireModel,
  type ModelNodeOptions,
  type ModelState,
} from './model-node.ts';

export interface ReactAgentOptions extends Pick<ModelNodeOptions<ModelState>, 'model' | 'instructions'> {
  /** What the agent can do beside talking; the caller of a run may add remote tools. */
  readonly tools?: readonly Tool[];
  /** How often and how long the model is asked, and asked again. */
  readonly policy?: NodePolicy;
}

/**
 * The loop of an agent, after "ReAct: Synergizing Reasoning and Acting in Language Models" (Yao et al., 2023): ask the model; run
 * the tools that it calls and ask again; end when it calls none. The nodes are `agent` and `tools`.
 * @throws Error when it is given an option that it does not have, no model, or no list of tools.
 */
export function createReactAgent(given: ReactAgentOptions): CompiledGraph {
  requireObject('what createReactAgent is given', given);
  refuseUnknown('what createReactAgent is given', '', given, optionNames);
  const { tools = [], policy, ...options } = given;
  requireModel('createReactAgent', options.model);
  requireValidInstructions('createReactAgent', options.instructions);
  requireTools('tools of createReactAgent', tools);
  return new StateGraph({})
    .addNode('agent', modelNode(options), policy)
    .addNode('tools', toolNode(tools))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
    .addEdge('tools', 'agent')
    .compile();
}

const optionNames: Readonly<Record<keyof ReactAgentOptions, true>> = {
  model: true,
  instructions: true,
  tools: true,
  policy: true,
};
