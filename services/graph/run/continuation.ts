import { nameWithin } from '../build/names.ts';
import type { Interrupt } from './interrupt.ts';

/**
 * What the engine hands from one step to the next beside the state and the next nodes. It is small JSON that is stored with
 * each commit and given to the step that follows, in this process or another; absent when nothing is under way. Its keys
 * are those of the stored JSON.
 */
export interface Continuation {
  /** Joins that still wait, each with its nodes that have arrived. */
  readonly joins?: Readonly<Record<string, readonly string[]>>;
  /** Open interrupts: questions without an answer. */
  readonly asking?: readonly PendingInterrupt[];
  /** Positions of sub-graphs that wait for the caller, by node. */
  readonly graphs?: Readonly<Record<string, SubgraphPosition>>;
  /** Of nodes that run in branches: the branches that begin or wait for the caller. */
  readonly branches?: Readonly<Record<string, readonly Branch[]>>;
}

/** One branch of a fan-out. */
export interface Branch {
  /** Its place among the branches of its node. */
  readonly index: number;
  /** JSON. */
  readonly input: unknown;
  /** The point at which a branch that waits for the caller continues. */
  readonly at?: Continuation;
}

/** A node, or one call of a tool node, that waits for the answer to `open`. */
export interface PendingInterrupt {
  readonly node: string;
  readonly call?: string;
  /** Answers to its earlier questions, in the order of the questions. */
  readonly answers: readonly unknown[];
  readonly open: Interrupt;
}

/** The point at which a sub-graph continues. */
export interface SubgraphPosition {
  readonly nodes: readonly string[];
  /** The number of its own next step. */
  readonly number: number;
  /** Its fields that the graph around it does not declare. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The continuation inside it, under the key of the stored JSON. */
  readonly carry?: Continuation;
}

/** The parts as one continuation; `undefined` when all are empty. */
export function toContinuation(parts: {
  readonly joins?: NonNullable<Continuation['joins']>;
  readonly asking?: readonly PendingInterrupt[];
  readonly graphs?: NonNullable<Continuation['graphs']>;
  readonly branches?: NonNullable<Continuation['branches']>;
}): Continuation | undefined {
  const { joins = {}, asking = [], graphs = {}, branches = {} } = parts;
  const continuation: Continuation = {
    ...(isEmpty(joins) ? {} : { joins }),
    ...(asking.length === 0 ? {} : { asking }),
    ...(isEmpty(graphs) ? {} : { graphs }),
    ...(isEmpty(branches) ? {} : { branches }),
  };
  return isEmpty(continuation) ? undefined : continuation;
}

/** The open questions. One of a sub-graph has the name of the node that holds the sub-graph. */
export function openInterrupts(continuation: Continuation | undefined): readonly Interrupt[] {
  if (!continuation) return [];
  const inner = Object.entries(continuation.graphs ?? {}).flatMap(([node, position]) =>
    openInterrupts(position.carry).map((open) => ({ ...open, node })),
  );
  const branches = branchesOf(continuation).flatMap(({ at }) => openInterrupts(at));
  return [...(continuation.asking ?? []).map(({ open }) => open), ...inner, ...branches];
}

/** The nodes at which waiting sub-graphs continue, each as `sub-graph/node`. */
export function innerNodes(continuation: Continuation | undefined): readonly string[] {
  if (!continuation) return [];
  const nodes = Object.entries(continuation.graphs ?? {}).flatMap(([sub, position]) =>
    [...position.nodes, ...innerNodes(position.carry)].map((node) => nameWithin(sub, node)),
  );
  // Many branches may wait at the same node.
  return [...new Set([...nodes, ...branchesOf(continuation).flatMap(({ at }) => innerNodes(at))])];
}

const branchesOf = ({ branches = {} }: Continuation): readonly Branch[] => Object.values(branches).flat();

/**
 * The answers to the questions of one node or tool call: those of earlier runs and the one that `given` holds for its open
 * question. `waits` is the open question when `given` has no answer to it.
 */
export function answersFor(
  caller: Pick<PendingInterrupt, 'node' | 'call'>,
  continuation: Continuation | undefined,
  given: Readonly<Record<string, unknown>> = {},
): { readonly answers: readonly unknown[] } | { readonly waits: PendingInterrupt } {
  const pending = continuation?.asking?.find(({ node, call }) => node === caller.node && call === caller.call);
  if (!pending) return { answers: [] };
  const { id } = pending.open;
  return Object.hasOwn(given, id) ? { answers: [...pending.answers, given[id]] } : { waits: pending };
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
