import type { Carry, GraphPlace } from './carry.ts';
import { RunFailure } from '../state/failure.ts';
import type { CompiledGraph } from '../build/graph.ts';
import { defaultValues, type NodeOutput } from '../state/merge.ts';
import { deepFreeze, type EngineState } from '../state/state.ts';
import { successorsOfStart } from './successors.ts';
import type { NodeResult, Step, TakeStep, TakenStep } from './super-step.ts';

const defaultRecursionLimit = 25;

/**
 * Runs a graph to its end as one node of another. What its nodes write to fields that both graphs declare, and their
 * messages, become what the node gave; when it waits for the caller, what it has come to is kept and it goes on from there.
 * @throws RunFailure naming the node, and in its message the one of the sub-graph that failed.
 */
export async function runSubgraph(
  step: Step,
  name: string,
  graph: CompiledGraph,
  takeStep: TakeStep,
): Promise<NodeResult> {
  const outputs: NodeOutput[] = [];
  const streamed: string[] = [];
  const count = countVisits(step.graph.policies.get(name)?.recursionLimit ?? defaultRecursionLimit, name);
  let stand = enter(step, name, graph);
  while (stand.nodes.length > 0) {
    count(stand.nodes);
    const result = await namingNode(name, takeStep(innerStep(step, name, graph, stand)));
    outputs.push(...result.outputs.map((output) => toOuter(output, name, step.graph)));
    streamed.push(...result.streamed);
    stand = { state: result.state, nodes: result.next, number: stand.number + 1, carry: result.carry };
    if (result.waiting) return { outputs, streamed, waiting: true, place: toPlace(stand, step.graph) };
  }
  return { outputs, streamed, waiting: false };
}

/** Where a sub-graph stands between two of its steps. */
interface Stand {
  readonly state: EngineState;
  readonly nodes: readonly string[];
  readonly number: number;
  readonly carry: Carry | undefined;
}

function enter({ state: outer, carry, graph: around }: Step, name: string, graph: CompiledGraph): Stand {
  const place = carry?.graphs?.[name];
  const shared = Object.entries(outer.values).filter(([field]) => isShared(field, graph) && isShared(field, around));
  const values = { ...defaultValues(graph.fields), ...place?.values, ...Object.fromEntries(shared) };
  const state = { values: deepFreeze(values), context: outer.context };
  if (place) return { state, nodes: place.nodes, number: place.number, carry: place.carry };
  return { state, nodes: successorsOfStart(graph, state), number: 1, carry: undefined };
}

function innerStep(step: Step, name: string, graph: CompiledGraph, { state, nodes, number, carry }: Stand): Step {
  return {
    ...step,
    graph,
    state,
    nodes,
    number,
    carry,
    within: `${step.within ?? step.run.runId}/${String(step.number)}/${name}`,
    onPiece: (_node, piece) => step.onPiece(name, piece),
    onRestart: (_node, attempt) => step.onRestart?.(name, attempt),
    onFault: (fault) => step.onFault?.({ ...fault, node: `${name}/${fault.node}` }),
  };
}

const toOuter = ({ fields, ...output }: NodeOutput, node: string, around: CompiledGraph): NodeOutput => ({
  ...output,
  node,
  fields: Object.fromEntries(Object.entries(fields).filter(([field]) => isShared(field, around))),
});

/** What both graphs have is in the state of the one around it: only the rest needs keeping. */
function toPlace({ state, nodes, number, carry }: Stand, around: CompiledGraph): GraphPlace {
  const values = Object.fromEntries(Object.entries(state.values).filter(([field]) => !isShared(field, around)));
  return { nodes, number, values, ...(carry ? { carry } : {}) };
}

const isShared = (field: string, { fields }: CompiledGraph): boolean =>
  field === 'context_summary' || Object.hasOwn(fields, field);

function countVisits(limit: number, node: string): (nodes: readonly string[]) => void {
  const visits = new Map<string, number>();
  return (nodes) => {
    for (const inner of nodes) {
      const visit = (visits.get(inner) ?? 0) + 1;
      visits.set(inner, visit);
      if (visit > limit)
        throw new RunFailure('NodeFailed', `node "${node}" failed: its node "${inner}" ran ${limit} times`, { node });
    }
  };
}

async function namingNode(node: string, taken: Promise<TakenStep>): Promise<TakenStep> {
  try {
    return await taken;
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error;
    const { code, message, cause } = error;
    throw new RunFailure(code, `node "${node}" failed: ${message}`, { node, cause });
  }
}
