import type { Continuation, SubgraphPosition, NodeResult } from './continuation.ts';
import type { RunContext } from '../build/context.ts';
import { failSpan } from '../trace/span-error.ts';
import { isAsleep } from './asleep.ts';
import { failureAt, isRunFailure, RunFailure } from '../state/failure.ts';
import type { CompiledGraph } from '../build/graph.ts';
import { defaultValues, mergeOutputs, type NodeOutput } from '../state/merge.ts';
import { deepFreeze, type EngineState } from '../state/state.ts';
import { keyOf } from './keys.ts';
import { enterGraph } from './successors.ts';
import { beginTogether } from './begin-together.ts';
import type { Step, RunStep, StepWithOutputs } from './super-step.ts';

const defaultRecursionLimit = 25;

/**
 * Runs a graph to its end as one node of another. What its nodes write to fields that both graphs declare, and their
 * messages, are the output of the node. When it waits for the caller, its position is stored, and a later run continues there.
 * @throws RunFailure naming the node; its message names the node of the sub-graph that failed.
 */
export async function runSubgraph(
  step: Step,
  name: string,
  graph: CompiledGraph,
  runStep: RunStep,
): Promise<NodeResult> {
  const left = leftOf(step, name, graph);
  const outputs = [...(left?.outputs ?? [])];
  const streamed: string[] = [];
  const stored = left?.position ?? step.continuation?.graphs?.[name];
  const within = stored?.key ?? keyOf(step, name);
  const inner = { ...step, within, run: { ...step.run, tools: toolsWithin(step, graph) } };
  const count = countVisits(step.graph.policies.get(name)?.recursionLimit ?? defaultRecursionLimit, name);
  let position = await enter(step, graph, { stored, outputs });
  while (position.nodes.length > 0) {
    count(position.nodes.filter((own) => !isAsleep(position.continuation, own, step.at)));
    const span = step.span?.begin('step', { name: position.nodes.join(', '), number: position.number });
    const leave = leaver(step, name, { outputs: [...outputs], position: toStored(position, step.graph, within) });
    const taken = runStep({ ...innerStep(inner, name, graph, position), ...leave, span });
    const result = await namingNode(name, taken).catch((error: unknown) => {
      failSpan(span, error, step.run.signal);
      throw error;
    });
    span?.end(result.waiting ? 'waiting' : result.wakeAt === undefined ? 'completed' : 'sleeping');
    outputs.push(...result.outputs.map((output) => toOuter(output, name, step.graph)));
    streamed.push(...result.streamed);
    position = {
      state: result.state,
      nodes: result.next,
      number: position.number + 1,
      continuation: result.continuation,
    };
    const { waiting, wakeAt, openCalls } = result;
    if (waiting || wakeAt !== undefined) {
      const stored = toStored(position, step.graph, within);
      return { outputs, streamed, waiting: true, openCalls, ...(wakeAt !== undefined && { wakeAt }), position: stored };
    }
  }
  return { outputs, streamed, waiting: false };
}

/** What a sub-graph had come to in which a node failed, in a run that tries that one again; not where the graph has other nodes now. */
function leftOf({ returned = {}, branch }: Step, name: string, graph: CompiledGraph): NodeResult | undefined {
  const left = branch === undefined && Object.hasOwn(returned, name) ? returned[name] : undefined;
  return left?.position?.nodes.every((node) => graph.nodes.has(node)) ? left : undefined;
}

/**
 * Reports what the sub-graph has come to, as it begins a step and as nodes and branches of the step return: should a node fail, a run that tries this
 * one again goes on from there. A sub-graph that is a branch begins at its start.
 */
function leaver(
  step: Step,
  name: string,
  begun: { readonly outputs: readonly NodeOutput[]; readonly position: SubgraphPosition },
): Pick<Step, 'onReturned' | 'onBranchesLeft'> {
  const { branch, onReturned } = step;
  if (branch !== undefined || !onReturned) return { onReturned: undefined, onBranchesLeft: undefined };
  let { position } = begun;
  const report = (more: Partial<SubgraphPosition>): void => {
    position = { ...position, ...more };
    onReturned(name, { outputs: begun.outputs, streamed: [], waiting: true, position });
  };
  report({});
  return {
    onReturned: (node, result) => report({ returned: { ...position.returned, [node]: { ...result, streamed: [] } } }),
    onBranchesLeft: (node, branches) =>
      report({ carry: { ...position.carry, branches: { ...position.carry?.branches, [node]: branches } } }),
  };
}

/** The position of a sub-graph between two of its steps. */
interface Position {
  readonly state: EngineState;
  readonly nodes: readonly string[];
  readonly number: number;
  readonly continuation: Continuation | undefined;
  /** What nodes of its first step need not return again. */
  readonly returned?: Step['returned'];
}

interface From {
  readonly stored: SubgraphPosition | undefined;
  /** What it has given since the state of the step around it. */
  readonly outputs: readonly NodeOutput[];
}

async function enter(
  { state: before, graph: around, run }: Step,
  graph: CompiledGraph,
  { stored, outputs }: From,
): Promise<Position> {
  const outer = outputs.length === 0 ? before : mergeOutputs(around.fields, before, outputs).state;
  const shared = Object.entries(outer.values).filter(([field]) => isShared(field, graph) && isShared(field, around));
  const values = { ...defaultValues(graph.fields), ...stored?.values, ...Object.fromEntries(shared) };
  const state = { values: deepFreeze(values), context: outer.context };
  if (stored) {
    const { nodes, number, carry: continuation, returned } = stored;
    return { state, nodes, number, continuation, returned };
  }
  const { state: begun } = (await beginTogether(graph, state, run)) ?? { state };
  return { state: begun, ...enterGraph(graph, begun), number: 1 };
}

function innerStep(
  step: Step,
  name: string,
  graph: CompiledGraph,
  { state, nodes, number, continuation, returned }: Position,
): Step {
  return {
    ...step,
    graph,
    state,
    nodes,
    number,
    continuation,
    branch: undefined,
    returned,
    streamsReturned: true,
    onChunk: (_node, chunk) => step.onChunk(name, chunk),
    onHeld: (_node, message) => step.onHeld?.(name, message),
    onLate: (late) => step.onLate?.({ ...late, node: `${name}/${late.node}` }),
    onProgress: (_node, data) => step.onProgress?.(name, data),
    onRestart: (_node, attempt) => step.onRestart?.(name, attempt),
    onFault: (fault) => step.onFault?.({ ...fault, node: `${name}/${fault.node}` }),
  };
}

const toOuter = ({ fields, branch: _, ...output }: NodeOutput, node: string, around: CompiledGraph): NodeOutput => ({
  ...output,
  node,
  fields: Object.fromEntries(Object.entries(fields).filter(([field]) => isShared(field, around))),
});

/** Fields that both graphs declare are stored in the state of the outer graph; only the others are stored here. */
function toStored(
  { state, nodes, number, continuation, returned }: Position,
  around: CompiledGraph,
  key: string,
): SubgraphPosition {
  const values = Object.fromEntries(Object.entries(state.values).filter(([field]) => !isShared(field, around)));
  return { nodes, number, values, ...(continuation && { carry: continuation }), key, ...(returned && { returned }) };
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

async function namingNode(node: string, taken: Promise<StepWithOutputs>): Promise<StepWithOutputs> {
  try {
    return await taken;
  } catch (error) {
    if (!isRunFailure(error)) throw error;
    throw failureAt(`node "${node}" failed`, node, error);
  }
}

/**
 * The tools that models of a sub-graph may call: its own and the caller's. Those of the graph around it would have no node here that runs
 * them; only where the sub-graph runs no tools at all do calls reach the graph around it, and all are offered.
 */
function toolsWithin({ run, graph: around }: Step, graph: CompiledGraph): RunContext['tools'] {
  if (!runsTools(graph)) return run.tools;
  const names = new Set(around.tools.map(({ name }) => name));
  return [...graph.tools, ...run.tools.filter(({ name }) => !names.has(name))];
}

const runsTools = ({ nodes }: CompiledGraph): boolean =>
  [...nodes.values()].some((node) => typeof node !== 'function' && (!('nodes' in node) || runsTools(node)));
