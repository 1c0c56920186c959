import { createYielder } from '@agent-workflow/kit/yielder';
import { within } from '@agent-workflow/protos/call';
import type { Message } from '@agent-workflow/protos/message';
import type { RunReadCalls, RunStep } from '@agent-workflow/protos/threads';
import type { Delta } from '@agent-workflow/graph/state/merge';
import { withMessages, type EngineState } from '@agent-workflow/graph/state/state';
import { fromJson } from './json.ts';

/** The number of a step and the nodes that ran in it. */
export interface StepNodes {
  readonly step: number;
  readonly nodes: readonly string[];
}

/** A committed step. The worker that committed it and any reader of the record build the same value. */
export interface CommittedStep extends StepNodes {
  readonly at: number;
  /** The changed fields. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The added and replaced messages, each once, in the order given. */
  readonly messages: readonly Message[];
  /** Ids of the messages that left the context, in the order given. */
  readonly removed: readonly string[];
}

/** A step that this worker has committed; `values` are those of the state after it. */
export const toCommitted = (
  { step, nodes }: StepNodes,
  { fields, messages, mayReplace, removed }: Delta,
  { values }: EngineState,
  at: number,
): CommittedStep => ({
  step,
  nodes,
  at,
  fields: Object.fromEntries(Object.keys(fields).map((name) => [name, values[name]])),
  // Of two messages with one id the later one holds, at the position of the first.
  messages: mayReplace ? withMessages([], messages, true) : messages,
  removed,
});

/** A step as the record returns it. */
const fromRunStep = ({ step, nodes, at, fields, messagesJson, removedFromContext }: RunStep): CommittedStep => ({
  step,
  nodes,
  at,
  fields: Object.fromEntries(Object.entries(fields).map(([name, json]) => [name, fromJson(json)])),
  messages: fromJson(messagesJson) as Message[],
  removed: removedFromContext,
});

const callTimeoutMs = 30_000;

/** The run's committed steps from `fromStep` on, as far as the record keeps them. */
export async function listSteps(
  threads: RunReadCalls,
  { owner, runId, fromStep }: { readonly owner: string; readonly runId: string; readonly fromStep: number },
): Promise<readonly CommittedStep[]> {
  const yielder = createYielder();
  const listed: CommittedStep[] = [];
  for (let next = fromStep; ;) {
    const { steps } = await threads.listRunSteps({ owner, runId, fromStep: next }, within(callTimeoutMs));
    const last = steps.at(-1);
    if (!last) return listed;
    for (const step of steps) {
      listed.push(fromRunStep(step));
      if (yielder.isDue()) await yielder.yield();
    }
    next = last.step + 1;
  }
}

/** The node of a step that has one alone, as a failure names it. */
export const onlyNode = (nodes: StepNodes['nodes']): { readonly node?: string } =>
  nodes.length === 1 && nodes[0] !== undefined ? { node: nodes[0] } : {};
