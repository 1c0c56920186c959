import { END, START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { toolNode, type Tool } from '../build/tool.ts';
import type { NodePolicy } from '../build/policy.ts';
import { callsTools } from '../state/calls.ts';
import { modelNode, type ModelNodeOptions, type ModelState } from './model-node.ts';

export interface ReactAgentOptions extends Pick<ModelNodeOptions<ModelState>, 'model' | 'instructions'> {
  /** What the agent can do beside talking; the caller of a run may add remote tools. */
  readonly tools?: readonly Tool[];
  /** How often and how long the model is asked, and asked again. */
  readonly policy?: NodePolicy;
}

/**
 * The loop of an agent, after "ReAct: Synergizing Reasoning and Acting in Language Models" (Yao et al., 2023): ask the model; run
 * the tools that it calls and ask again; end when it calls none. The nodes are `agent` and `tools`.
 */
export function createReactAgent({ tools = [], policy, ...options }: ReactAgentOptions): CompiledGraph {
  return new StateGraph({})
    .addNode('agent', modelNode(options), policy)
    .addNode('tools', toolNode(tools))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
    .addEdge('tools', 'agent')
    .compile();
}
