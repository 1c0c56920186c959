import { sizes } from '@agent-workflow/kit/sizes';
import { failureOfCode, messageOf, readable, RunFailure } from '../state/failure.ts';
import { END, START } from '../build/names.ts';
import type { CompiledGraph } from '../build/graph.ts';
import { isSend, send, type Send } from '../build/send.ts';
import { toStrictJson } from '../state/json-value.ts';
import type { EngineState } from '../state/state.ts';
import { toContinuation, type Continuation } from './continuation.ts';

/** What follows a step. */
interface Successors {
  /** The nodes, each once, in the order of the graph. */
  readonly nodes: readonly string[];
  /** Of the nodes that run in branches: the input of each branch, in the order of the routes. */
  readonly inputs: ReadonlyMap<string, readonly unknown[]>;
}

/** How many branches one step may begin. */
const maxBranches = 10_000;

/**
 * What the edges from `from` lead to, and the nodes in `joined`.
 * @throws RunFailure when a route fails, leads to a node that is not there, or names a node that it also sends to.
 */
export function successors(
  graph: CompiledGraph,
  from: readonly string[],
  state: EngineState,
  joined: readonly string[] = [],
): Successors {
  const led = from.flatMap((name) => [...(graph.edges.get(name) ?? []), ...routed(graph, name, state)]);
  const named = new Set([...led.filter((target) => typeof target === 'string'), ...joined]);
  named.delete(END);
  const inputs = inputsOf(led.filter(isSend));
  for (const name of inputs.keys())
    if (named.has(name))
      throw new RunFailure('GraphFailed', `node "${name}" is reached by its name and by send in one step`, {
        node: name,
      });
  const reached = new Set([...named, ...inputs.keys()]);
  if (reached.size <= 1) return { nodes: [...reached], inputs };
  return { nodes: [...graph.nodes.keys()].filter((name) => reached.has(name)), inputs };
}

/** With what a run of a graph begins. */
interface Entry {
  readonly nodes: readonly string[];
  readonly continuation: Continuation | undefined;
}

export function enterGraph(graph: CompiledGraph, state: EngineState): Entry {
  const { nodes, inputs } = successors(graph, [START], state);
  const branches = Object.fromEntries(
    [...inputs].map(([name, list]) => [name, list.map((input, index) => ({ index, input }))]),
  );
  return { nodes, continuation: toContinuation({ branches }) };
}

const noInputs: Successors['inputs'] = new Map();

function inputsOf(sends: readonly Send[]): Successors['inputs'] {
  if (sends.length === 0) return noInputs;
  if (sends.length > maxBranches) {
    const names = [...new Set(sends.map(({ node }) => `"${node}"`))].join(', ');
    const why = `a step begins ${String(sends.length)} branches of ${names}, more than ${String(maxBranches)}`;
    throw new RunFailure('GraphFailed', `${why}: give several items to each, or send the rest in a later step`);
  }
  const inputs = new Map<string, unknown[]>();
  let bytes = 0;
  for (const { node, input } of sends) {
    const own = toInput(node, input);
    bytes += Buffer.byteLength(JSON.stringify(own));
    // They are kept between two steps, and are refused here before all of them are copied.
    if (bytes > sizes.progress) {
      const why = `the inputs of the branches of node "${node}" make those of the step more than ${String(sizes.progress)} bytes together`;
      const help = 'send smaller inputs, as ids of what the branches read by themselves, or fewer in one step';
      throw new RunFailure('GraphFailed', `${why}: ${help}`, { node });
    }
    const list = inputs.get(node) ?? [];
    list.push(own);
    inputs.set(node, list);
  }
  return inputs;
}

function toInput(node: string, input: unknown): unknown {
  try {
    return toStrictJson(input, `send to node "${node}"`, sizes.progress);
  } catch (cause) {
    throw new RunFailure('GraphFailed', messageOf(cause), { node, cause });
  }
}

function routed(graph: CompiledGraph, name: string, { values, context }: EngineState): (string | Send)[] {
  const edges = graph.conditional.get(name);
  if (!edges) return [];
  return edges.flatMap(({ route }) => {
    const targets = [callRoute(route, name, { ...values, context })].flat().map(toTarget);
    for (const target of targets) refuseUnknown(graph, name, target);
    return targets;
  });
}

/** A target whose node and input do not change when they are read again. */
const toTarget = (target: string | Send): string | Send => (isSend(target) ? send(target.node, target.input) : target);

function refuseUnknown(graph: CompiledGraph, from: string, target: string | Send): void {
  const refuse = (why: string): RunFailure =>
    new RunFailure('GraphFailed', `the edge from ${from === START ? 'START' : `"${from}"`} ${why}`, { node: from });
  const to: unknown = isSend(target) ? target.node : target;
  if (to instanceof Promise) {
    // What it rejects with later would end the process of a test.
    to.catch(() => undefined);
    throw refuse('leads to a promise: a route must return at once');
  }
  if (to === END && isSend(target)) throw refuse('sends to END, which takes no input');
  if (to === END && !isSend(target)) return;
  const node = typeof to === 'string' ? graph.nodes.get(to) : undefined;
  if (!node) throw refuse(`leads to the unknown node "${messageOf(to)}"`);
  // A tool node answers the calls of the context, and has no use for an input.
  if (isSend(target) && typeof node !== 'function' && !('nodes' in node))
    throw refuse(`sends to "${target.node}", which is a tool node`);
}

function callRoute(
  route: (state: never) => string | Send | readonly (string | Send)[],
  node: string,
  state: object,
): string | Send | readonly (string | Send)[] {
  try {
    return route(state as never);
  } catch (cause) {
    throw failureOfCode(
      'GraphFailed',
      `the edge from ${node === START ? 'START' : `"${node}"`}`,
      readable(cause),
      node,
    );
  }
}
