import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Delta } from './engine/merge.ts';
import type { EngineState } from './engine/state.ts';
import type { EventWriter } from './events.ts';
import { allPiecesTold, nothingTold } from './told.ts';

/** Which step it was. */
export interface StepPlace {
  readonly step: number;
  readonly nodes: readonly string[];
}

/** A step that has been committed. */
export interface CommittedStep {
  readonly delta: Delta;
  readonly streamed: ReadonlySet<string>;
  readonly state: EngineState;
  readonly at: number;
}

/** What a committed step is told with: whole messages, changes of state and context, and that it is over. */
export function tellStep(
  events: EventWriter,
  granularity: string,
  { step, nodes }: StepPlace,
  { delta, streamed, state, at }: CommittedStep,
): RunEvent[] {
  const place = { step, ...(nodes.length === 1 ? { node: nodes[0] ?? '' } : {}) };
  const told = delta.messages.flatMap((message) =>
    events.message(message, place, at, streamed.has(message.message_id) ? allPiecesTold : nothingTold),
  );
  if (granularity !== 'low') {
    const changed = Object.fromEntries(Object.keys(delta.fields).map((name) => [name, state.values[name]]));
    if (Object.keys(changed).length > 0) told.push(events.write('state_chunk', changed, place, { at, state: changed }));
    if (delta.messages.length > 0)
      told.push(events.write('context_chunk', { messages: delta.messages, removed: [] }, place, { at }));
  }
  if (granularity === 'full' && delta.fields['context_summary'] !== undefined) {
    told.push(events.write('summary_chunk', state.values['context_summary'], place, { at }));
  }
  for (const node of nodes) {
    told.push(events.write('on_chain_stream', { node, step, status: 'completed' }, { node, step }, { at }));
  }
  return told;
}
