import { openCalls } from '../state/calls.ts';
import type { CompiledGraph } from '../build/graph.ts';
import type { Tool } from '../build/tool.ts';
import type { Step } from './super-step.ts';

type StepParts = Pick<Step, 'nodes' | 'continuation' | 'state' | 'isRemote'>;

/**
 * Whether a step may begin before the step before it is on record: each of its nodes is speculative or answers calls of pure tools alone,
 * and none continues what an earlier step began. Joins that wait are no part of what its nodes do.
 */
export function mayBeginEarly(graph: CompiledGraph, step: StepParts): boolean {
  const { nodes, continuation = {} } = step;
  if (!nodes.every((name) => graph.policies.get(name)?.speculative === true || pureCallsOf(graph, name, step)))
    return false;
  return Object.keys(continuation).every((part) => part === 'joins');
}

/**
 * The pure tools that a step would call which is nothing but a tool node after one function: such a step may be committed together with
 * the one before. `undefined` for any other step. The continuation is that between the two.
 */
export function toolsToFuse(
  graph: CompiledGraph,
  before: Pick<Step, 'nodes' | 'continuation'>,
  step: StepParts,
): readonly Tool[] | undefined {
  const [asking, ...beside] = before.nodes;
  const [answering, ...others] = step.nodes;
  if (asking === undefined || answering === undefined || beside.length > 0 || others.length > 0) return undefined;
  if (before.continuation || step.continuation || typeof graph.nodes.get(asking) !== 'function') return undefined;
  return pureCallsOf(graph, answering, step);
}

/** The tools that a tool node would call, each once, when there are calls and all of them are of pure tools that run here. */
function pureCallsOf(
  { nodes }: CompiledGraph,
  name: string,
  { state, isRemote }: Pick<StepParts, 'state' | 'isRemote'>,
): readonly Tool[] | undefined {
  const node = nodes.get(name);
  if (!node || typeof node === 'function' || 'nodes' in node || !node.tools.some(isPure)) return undefined;
  const called = new Set<Tool>();
  for (const { type, name: asked } of openCalls(state.context)) {
    const tool = node.tools.find((own) => own.name === asked);
    if (!tool || !isPure(tool) || type === 'remote_tool_call' || isRemote(asked)) return undefined;
    called.add(tool);
  }
  return called.size === 0 ? undefined : [...called];
}

const isPure = ({ replay, run }: Tool): boolean => replay === 'pure' && run !== undefined;
