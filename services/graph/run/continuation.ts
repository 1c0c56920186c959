import type { Answerer } from '@agent-workflow/protos/answerer';
import type { CallBlock } from '@agent-workflow/protos/message';
import { nameWithin } from '../build/names.ts';
import type { NodeOutput } from '../state/merge.ts';
import { disputed } from '../state/answers-differ.ts';
import { unanswered } from '../state/deadline.ts';
import type { Interrupt } from './interrupt.ts';
import type { Asked, Earlier } from './question.ts';

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
  /** Nodes and tool calls that sleep. */
  readonly sleeping?: readonly PendingSleep[];
  /** Of nodes that answer tool calls: the ids of the calls without an answer, those of remote tools included. */
  readonly calls?: Readonly<Record<string, readonly string[]>>;
  /** Positions of sub-graphs that wait or sleep, by node. */
  readonly graphs?: Readonly<Record<string, SubgraphPosition>>;
  /** Of nodes that run in branches: all branches of the step, which begin, wait for the caller, sleep or have returned. */
  readonly branches?: Readonly<Record<string, readonly Branch[]>>;
  /** Of nodes side by side that have not all returned: what they gave, in the order of the nodes. */
  readonly held?: readonly HeldNode[];
}

/** What one node or branch gave in a step that others have not left. It is merged when the last of them returns. */
export interface Held {
  /** Whether it has returned. */
  readonly done: boolean;
  readonly outputs: readonly NodeOutput[];
  /** Ids of messages of it that are on record already. Those beside it do not see them. */
  readonly ahead?: readonly string[];
  /** Ids of messages in `outputs` that were streamed as they were made. */
  readonly streamed?: readonly string[];
}

export interface HeldNode extends Held {
  readonly node: string;
}

/** One branch of a fan-out. */
export interface Branch {
  /** Its place among the branches of its node. */
  readonly index: number;
  /** JSON. */
  readonly input: unknown;
  /** The point at which a branch that waits or sleeps continues. */
  readonly at?: Continuation;
  /** What it gave, where others of its node wait or sleep. */
  readonly held?: Held;
}

/** A node, or one call of a tool node, that waits for the answer to `open`. */
export interface PendingInterrupt extends Earlier {
  readonly node: string;
  readonly call?: string;
  readonly open: Interrupt;
  readonly shown: Asked;
}

/** A node, or one call of a tool node, that sleeps until a time in milliseconds since 1970. */
export interface PendingSleep extends Earlier {
  readonly node: string;
  readonly call?: string;
  readonly until: number;
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
  /** Its key where it began, which it keeps. */
  readonly key: string;
  /** Of a sub-graph in which a node failed: what the nodes of its step had returned beside it. */
  readonly returned?: Readonly<Record<string, NodeResult>>;
}

/** The result of one node. */
export interface NodeResult {
  /** One output; for a sub-graph one for each node that ran in it. */
  readonly outputs: readonly NodeOutput[];
  /** Ids of messages that were streamed as they were made. */
  readonly streamed: readonly string[];
  /** Ids of messages that were streamed in an earlier step, which held them. */
  readonly streamedBefore?: readonly string[];
  /** Whether the node waits or sleeps, and runs again then. */
  readonly waiting: boolean;
  /** When it runs again that waits for nothing but time, in milliseconds since 1970. */
  readonly wakeAt?: number;
  readonly pending?: readonly PendingInterrupt[];
  readonly sleeping?: readonly PendingSleep[];
  /** The tool calls for whose answers it waits: those of its sub-graph or branches, too. */
  readonly openCalls?: readonly CallBlock[];
  /** Of a node that runs in branches, some of which wait or sleep: all of them, or the one that there is. */
  readonly branches?: readonly Branch[];
  /** Of a sub-graph that waits or sleeps: the point at which it continues. */
  readonly position?: SubgraphPosition;
}

/** The parts as one continuation; `undefined` when all are empty. */
export function toContinuation(parts: {
  readonly joins?: NonNullable<Continuation['joins']>;
  readonly asking?: readonly PendingInterrupt[];
  readonly sleeping?: readonly PendingSleep[];
  readonly calls?: NonNullable<Continuation['calls']>;
  readonly graphs?: NonNullable<Continuation['graphs']>;
  readonly branches?: NonNullable<Continuation['branches']>;
  readonly held?: NonNullable<Continuation['held']>;
}): Continuation | undefined {
  const { joins = {}, asking = [], sleeping = [], calls = {}, graphs = {}, branches = {}, held = [] } = parts;
  const continuation: Continuation = {
    ...(isEmpty(joins) ? {} : { joins }),
    ...(asking.length === 0 ? {} : { asking }),
    ...(sleeping.length === 0 ? {} : { sleeping }),
    ...(isEmpty(calls) ? {} : { calls }),
    ...(isEmpty(graphs) ? {} : { graphs }),
    ...(isEmpty(branches) ? {} : { branches }),
    ...(held.length === 0 ? {} : { held }),
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

/** What a step begins with: the continuation, answers to open questions by their ids, and its time in milliseconds since 1970. */
interface Given {
  readonly continuation?: Continuation | undefined;
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /** Who gave the answers. */
  readonly answeredBy?: readonly Answerer[] | undefined;
  readonly at: number;
}

/** A node, or one call of a tool node. */
type Caller = Pick<PendingInterrupt, 'node' | 'call'>;

/**
 * What a node or tool call has been given so far: in earlier runs of it, and by `given`, which holds answers by the ids of questions.
 * `waits` is its open question when `given` has no answer to it; `sleeps` its sleep when that has not ended at the time `at`.
 */
export function givenTo(
  { node, call }: Caller,
  { continuation, answers: given = {}, answeredBy: by, at }: Given,
): { readonly earlier: Earlier } | { readonly waits: PendingInterrupt } | { readonly sleeps: PendingSleep } {
  const isOwn = (pending: Caller): boolean => pending.node === node && pending.call === call;
  const asleep = continuation?.sleeping?.find(isOwn);
  if (asleep) return asleep.until > at ? { sleeps: asleep } : { earlier: asleep };
  const asking = continuation?.asking?.find(isOwn);
  if (!asking) return { earlier: nothing };
  const { open, shown, answers, asked = [], slept, key } = asking;
  if (!Object.hasOwn(given, open.id)) return { waits: asking };
  const answer = given[open.id];
  const [isPassed, differ] = [answer === unanswered, answer === disputed];
  return {
    earlier: {
      answers: [...answers, isPassed || differ ? null : answer],
      asked: [...asked, { ...shown, ...(isPassed && { passed: true }), ...(differ && { differ }), ...(by && { by }) }],
      ...(slept && { slept }),
      ...(key !== undefined && { key }),
    },
  };
}

const nothing: Earlier = { answers: [] };

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
