import { nameWithin } from '../build/names.ts';
import type { Interrupt } from './interrupt.ts';

/**
 * What a run carries from step to step beside state and next nodes. It is small JSON, to be kept with each commit and
 * handed back to the step that follows, in this process or another; not there when nothing is under way.
 */
export interface Carry {
  /** Joins that still wait: which of their nodes have arrived. */
  readonly joins?: Readonly<Record<string, readonly string[]>>;
  /** Who asked and waits for the answer. */
  readonly asking?: readonly Asking[];
  /** Where sub-graphs stand that wait, by node. */
  readonly graphs?: Readonly<Record<string, GraphPlace>>;
}

/** A node, or one call of a tool node, that waits for the answer to `open`. */
export interface Asking {
  readonly node: string;
  readonly call?: string;
  /** The answers that it had before, in the order of its questions. */
  readonly answers: readonly unknown[];
  readonly open: Interrupt;
}

/** Where a sub-graph goes on. */
export interface GraphPlace {
  readonly nodes: readonly string[];
  /** The number of its own step that comes next. */
  readonly number: number;
  /** Its fields that the graph around it does not have. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly carry?: Carry;
}

/** The parts as one, if there is any. */
export function toCarry(parts: {
  readonly joins: NonNullable<Carry['joins']>;
  readonly asking: readonly Asking[];
  readonly graphs: NonNullable<Carry['graphs']>;
}): Carry | undefined {
  const carry: Carry = {
    ...(isEmpty(parts.joins) ? {} : { joins: parts.joins }),
    ...(parts.asking.length === 0 ? {} : { asking: parts.asking }),
    ...(isEmpty(parts.graphs) ? {} : { graphs: parts.graphs }),
  };
  return isEmpty(carry) ? undefined : carry;
}

/** The questions that wait for an answer, those of sub-graphs under the name of the node that holds them. */
export function openInterrupts(carry: Carry | undefined): readonly Interrupt[] {
  if (!carry) return [];
  const inner = Object.entries(carry.graphs ?? {}).flatMap(([node, place]) =>
    openInterrupts(place.carry).map((open) => ({ ...open, node })),
  );
  return [...(carry.asking ?? []).map(({ open }) => open), ...inner];
}

/** Where sub-graphs stand that wait, as the record knows their nodes. */
export const innerPlaces = (carry: Carry | undefined): readonly string[] =>
  Object.entries(carry?.graphs ?? {}).flatMap(([sub, place]) =>
    [...place.nodes, ...innerPlaces(place.carry)].map((node) => nameWithin(sub, node)),
  );

/** What a place that may ask finds: the answers that it has, or that it waits still. */
export function answersFor(
  place: Pick<Asking, 'node' | 'call'>,
  carry: Carry | undefined,
  given: Readonly<Record<string, unknown>> = {},
): { readonly answers: readonly unknown[] } | { readonly waits: Asking } {
  const asking = carry?.asking?.find(({ node, call }) => node === place.node && call === place.call);
  if (!asking) return { answers: [] };
  const { id } = asking.open;
  return Object.hasOwn(given, id) ? { answers: [...asking.answers, given[id]] } : { waits: asking };
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
