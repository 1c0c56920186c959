import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type { RunStep } from '@agent-workflow/protos/threads';
import { withMessages, type EngineState } from '@agent-workflow/graph/state/state';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { EventWriter } from './event-writer.ts';
import { shownAt } from './granularity.ts';
import { fromJson } from '../record/run-options.ts';
import { inOrder } from './outcome.ts';
import type { Told, ToldLog, ToldStep } from './told.ts';

/** Which step it was. */
export interface StepPlace {
  readonly step: number;
  readonly nodes: readonly string[];
}

/**
 * A step that has been committed, as the record gives it back: whoever tells it, from its own memory or from the record,
 * tells the same.
 */
export interface CommittedStep extends StepPlace {
  readonly at: number;
  /** The changed fields. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What was added or replaced, each message once, in the order given. */
  readonly messages: readonly Message[];
  /** Ids of what left the context, in the order given. */
  readonly removed: readonly string[];
}

/** A step that this worker has committed, and the state that it left. */
export const toCommitted = (
  { step, nodes }: StepPlace,
  { fields, messages, mayReplace, removed }: Delta,
  { values }: EngineState,
  at: number,
): CommittedStep => ({
  step,
  nodes,
  at,
  fields: Object.fromEntries(Object.keys(fields).map((name) => [name, values[name]])),
  // Of two with one id the later holds, in the place of the first.
  messages: mayReplace ? withMessages([], messages, true) : messages,
  removed,
});

/** A step as it is on record. */
export const fromRunStep = ({ step, nodes, at, fields, messagesJson, removedFromContext }: RunStep): CommittedStep => ({
  step,
  nodes,
  at,
  fields: Object.fromEntries(Object.entries(fields).map(([name, json]) => [name, fromJson(json)])),
  messages: fromJson(messagesJson) as Message[],
  removed: removedFromContext,
});

/**
 * What a committed step is told with: whole messages, changes of state and context, and that it is over. Of that, what has
 * been told is left out.
 */
export function tellStep(
  events: EventWriter,
  granularity: Granularity,
  { step, nodes, at, fields, messages, removed }: CommittedStep,
  told: ToldStep,
): RunEvent[] {
  const place = { step, ...(nodes.length === 1 ? { node: nodes[0] ?? '' } : {}) };
  const list = messages.flatMap((message) =>
    tellMessage(events, message, { place, at, told: told.message(message.message_id) }),
  );
  const shown = shownAt[granularity];
  if (shown.state) {
    const changed = inOrder(fields);
    if (Object.keys(changed).length > 0 && !told.has('state_chunk'))
      list.push(events.write('state_chunk', changed, place, { at, state: changed }));
    if (messages.length + removed.length > 0 && !told.has('context_chunk'))
      list.push(events.write('context_chunk', { messages, removed }, place, { at }));
  }
  if (shown.summary && fields['context_summary'] !== undefined && !told.has('summary_chunk'))
    list.push(events.write('summary_chunk', fields['context_summary'], place, { at }));
  for (const node of nodes) {
    if (told.has('completed', node)) continue;
    list.push(events.write('on_chain_stream', { node, step, status: 'completed' }, { node, step }, { at }));
  }
  return list;
}

interface Telling {
  readonly place: { readonly step?: number; readonly node?: string };
  readonly at: number;
  readonly told: Told;
}

/** What is left to be told of a message, until it is there whole. */
export const tellMessage = (events: EventWriter, message: Message, { place, at, told }: Telling): RunEvent[] =>
  told.whole ? [] : events.message(message, place, at, told);

/** How steps on record are told of which the log has nothing, or has lost the end: as the worker would have, had it lived. */
export const tellSteps = (
  events: EventWriter,
  granularity: Granularity,
  steps: readonly CommittedStep[],
  log: ToldLog,
): RunEvent[] =>
  steps.flatMap((committed) => {
    const { step, nodes, at } = committed;
    const told = log.step(step);
    const begun = nodes
      .filter((node) => !told.has('started', node) && !told.has('restarted', node))
      .map((node) => events.write('on_chain_stream', { node, step, status: 'started' }, { node, step }, { at }));
    return [...begun, ...tellStep(events, granularity, committed, told)];
  });
