import { isAsleep, wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import type { Continuation } from '@agent-workflow/graph/run/continuation';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { EngineState } from '@agent-workflow/graph/state/state';
import type { Added } from '../record/added.ts';
import type { StateSize } from '../record/state-size.ts';

/** The state of a run between two steps: what the next step begins with. */
export interface RunState {
  readonly state: EngineState;
  readonly size: StateSize;
  /** The nodes of the next step, and its number. */
  readonly nodes: readonly string[];
  readonly step: number;
  /** Changes that came with the input and belong to the first commit. */
  readonly pending: Delta;
  readonly added: Added;
  /** How many times each node has run in this run. */
  readonly visits: ReadonlyMap<string, number>;
  readonly continuation: Continuation | undefined;
  /** When the next step begins, in milliseconds since 1970: sleeps that end then or before have ended. */
  readonly at: number;
  /** Answers to the questions of the interrupted run before this one: for the first step. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
}

/** What the nodes of a step begin with. */
export type StepState = Pick<RunState, 'state' | 'nodes' | 'step' | 'continuation' | 'at' | 'answers'>;

export const emptyDelta: Delta = { fields: {}, messages: [], mayReplace: false, removed: [] };

/** The changes of one delta and, over them, those of another. */
export function joinDeltas(first: Delta, second: Delta): Delta {
  if (first === emptyDelta) return second;
  return {
    fields: { ...first.fields, ...second.fields },
    messages: [...first.messages, ...second.messages],
    mayReplace: first.mayReplace || second.mayReplace,
    removed: [...first.removed, ...second.removed],
  };
}

/** The nodes that run in the next step: those that do not sleep on. */
export const awakeNodes = ({
  nodes,
  continuation,
  at,
}: Pick<RunState, 'nodes' | 'continuation' | 'at'>): readonly string[] =>
  nodes.filter((node) => !isAsleep(continuation, node, at));

/** The visits after the next step of a run. A node that begins again after a sleep goes on with the same visit. */
export function countVisits({
  visits,
  nodes,
  continuation,
}: Pick<RunState, 'visits' | 'nodes' | 'continuation'>): ReadonlyMap<string, number> {
  const counted = new Map(visits);
  for (const node of nodes)
    if (wakeTimeOf(continuation, node) === undefined) counted.set(node, (counted.get(node) ?? 0) + 1);
  return counted;
}
