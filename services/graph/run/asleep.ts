import { isCall, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { Branch, Continuation, SubgraphPosition, NodeResult } from './continuation.ts';
import type { Step } from './super-step.ts';

/**
 * When a node begins again that waits for nothing but time, in milliseconds since 1970; `undefined` for any other node. The first of
 * several sleeps counts.
 */
export function wakeTimeOf(continuation: Continuation | undefined, node: string): number | undefined {
  if (!continuation) return undefined;
  const { sleeping = [], asking = [], graphs = {}, branches = {} } = continuation;
  if (asking.some((pending) => pending.node === node)) return undefined;
  const own = sleeping.flatMap((pending) => (pending.node === node ? pending.until : []));
  const position = Object.hasOwn(graphs, node) ? graphs[node] : undefined;
  const waiting = Object.hasOwn(branches, node) ? (branches[node] ?? []).filter(({ held }) => !held?.done) : [];
  return earliest([...own, ...(position ? [wakeTimeWithin(position)] : []), ...waiting.map(wakeTimeOfBranch(node))]);
}

const wakeTimeOfBranch =
  (node: string) =>
  ({ at }: Branch): number | undefined =>
    wakeTimeOf(at, node);

const wakeTimeWithin = (position: SubgraphPosition): number | undefined =>
  earliest(position.nodes.map((node) => wakeTimeOf(position.carry, node)));

/** The earliest of the times; `undefined` when one is not known, or there are none. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  let first = Infinity;
  for (const time of times) {
    if (time === undefined) return undefined;
    first = Math.min(first, time);
  }
  return first === Infinity ? undefined : first;
}

/** Whether a node sleeps on at the time `at`: then it does not run in a step that begins at that time. */
export function isAsleep(continuation: Continuation | undefined, node: string, at: number): boolean {
  const time = wakeTimeOf(continuation, node);
  return time !== undefined && time > at;
}

/** The result of a node that sleeps on: it keeps what it has been given. `undefined` for a node that runs. */
export function resultAsleep(
  { continuation, at, state: { context } }: Pick<Step, 'continuation' | 'at' | 'state'>,
  node: string,
): NodeResult | undefined {
  const wakeAt = wakeTimeOf(continuation, node);
  if (!continuation || wakeAt === undefined || wakeAt <= at) return undefined;
  const { sleeping = [], graphs = {}, branches = {} } = continuation;
  const position = Object.hasOwn(graphs, node) ? graphs[node] : undefined;
  const waiting = Object.hasOwn(branches, node) ? branches[node] : undefined;
  return {
    outputs: [],
    streamed: [],
    waiting: true,
    wakeAt,
    sleeping: sleeping.filter((pending) => pending.node === node),
    openCalls: callsOf(context, callIdsOf(continuation, node)),
    ...(position && { position }),
    ...(waiting && { branches: waiting }),
  };
}

/** The ids of the tool calls for whose answers the node, its sub-graph or its branches wait. */
function callIdsOf(continuation: Continuation | undefined, node: string): readonly string[] {
  const { calls = {}, graphs = {}, branches = {} } = continuation ?? {};
  const position = Object.hasOwn(graphs, node) ? graphs[node] : undefined;
  const waiting = Object.hasOwn(branches, node) ? (branches[node] ?? []) : [];
  return [
    ...(Object.hasOwn(calls, node) ? (calls[node] ?? []) : []),
    ...(position?.nodes.flatMap((inner) => callIdsOf(position.carry, inner)) ?? []),
    ...waiting.flatMap(({ at }) => callIdsOf(at, node)),
  ];
}

function callsOf(context: readonly Message[], ids: readonly string[]): readonly CallBlock[] {
  if (ids.length === 0) return [];
  const wanted = new Set(ids);
  return context.flatMap(({ content }) => content.filter(isCall)).filter(({ id }) => wanted.has(id));
}
