import { wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { everyNode, type Breakpoints } from '../record/run-options.ts';
import { awakeNodes, emptyDelta, type DriveOptions, type RunState } from './driven-run.ts';
import type { RanStep } from './run-nodes.ts';

/**
 * The question at which a run stops between two steps; `undefined` where it goes on. A step that waits or sleeps is not over: what waits for it
 * is asked by its nodes. A run whose graph has ended has nothing to go on with.
 */
export function breakpointAt(
  { runId }: Pick<ClaimedRun, 'runId'>,
  { before = [], after = [] }: Breakpoints,
  runState: RunState,
  { waiting, wakeAt, next, continuation }: StepResult,
): Interrupt | undefined {
  if (waiting || wakeAt !== undefined || next.length === 0) return undefined;
  const held = (runState.continuation?.held ?? []).map(({ node }) => node);
  const ended = [...held, ...awakeNodes(runState)].filter((node) => isOneOf(after, node));
  const begin = next.filter((node) => wakeTimeOf(continuation, node) === undefined && isOneOf(before, node));
  const [breakpoint, nodes] = ended.length > 0 ? ['after', ended] : ['before', begin];
  const [node] = nodes;
  if (node === undefined) return undefined;
  return { id: `${runId}/${String(runState.step)}/${node}/${breakpoint}`, node, value: { breakpoint, nodes } };
}

/** Where a run stops: by its own options, and by those of its graph. */
export function breakpointsOf({ graph, runOptions }: Pick<DriveOptions, 'graph' | 'runOptions'>): Breakpoints {
  const { breakpoints: own = {} } = runOptions;
  const { breakpoints: always } = graph;
  if (!always) return own;
  return {
    before: [...(always.before ?? []), ...(own.before ?? [])],
    after: [...(always.after ?? []), ...(own.after ?? [])],
  };
}

const isOneOf = (list: readonly string[], node: string): boolean => list.includes(everyNode) || list.includes(node);

/** Whether a run stops before its first nodes. One that goes on from a stop there has them from the record, and passes. */
export function stopsAtOnce(options: DriveOptions, { nodes }: RunState): boolean {
  const { claimed } = options;
  const { before = [] } = breakpointsOf(options);
  return claimed.next.length === 0 && nodes.some((node) => isOneOf(before, node));
}

/** The step of no node that a run which stops before its first nodes is committed with. */
export const stepOfNone = (first: RunState): { readonly none: RunState; readonly result: RanStep } => ({
  none: { ...first, nodes: [], continuation: undefined },
  result: {
    state: first.state,
    delta: emptyDelta,
    next: first.nodes,
    continuation: first.continuation,
    streamed: new Set(),
    waiting: false,
    interrupts: [],
    openCalls: [],
    retries: 0,
  },
});
