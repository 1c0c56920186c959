import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import { withoutProviderData, type Message } from '@agent-workflow/protos/message';
import type { CommittedStep } from '../record/committed-step.ts';
import type { EventSource, EventWriter } from './event-writer.ts';
import { shownAt } from './granularity.ts';
import { inOrder } from './outcome.ts';
import type { PublishedEvents, PublishedMessage, PublishedStep } from './published.ts';

/**
 * The events of a committed step that are not published yet: whole messages, changes of state and context, and the end of each
 * node. They depend on the committed step alone, so that any worker writes the same ones.
 */
export function stepEvents(
  events: EventWriter,
  granularity: Granularity,
  { step, nodes, at, fields, messages, removed }: CommittedStep,
  published: PublishedStep,
): RunEvent[] {
  const source = { step, ...(nodes.length === 1 ? { node: nodes[0] ?? '' } : {}) };
  const list = messages.flatMap((message) =>
    messageEvents(events, message, { source, at, published: published.message(message.message_id) }),
  );
  const shown = shownAt[granularity];
  if (shown.state) {
    const changed = inOrder(fields);
    if (Object.keys(changed).length > 0 && !published.has('state_chunk'))
      list.push(events.write('state_chunk', changed, source, { at, state: changed }));
    if (messages.length + removed.length > 0 && !published.has('context_chunk'))
      list.push(
        events.write('context_chunk', { messages: messages.map(withoutProviderData), removed }, source, { at }),
      );
  }
  if (shown.summary && fields['context_summary'] !== undefined && !published.has('summary_chunk'))
    list.push(events.write('summary_chunk', fields['context_summary'], source, { at }));
  for (const node of nodes) {
    if (published.has('completed', node)) continue;
    list.push(events.write('on_chain_stream', { node, step, status: 'completed' }, { node, step }, { at }));
  }
  return list;
}

interface MessageEventsOptions {
  readonly source: EventSource;
  readonly at: number;
  readonly published: PublishedMessage;
}

/** The events of a message that are not published yet; none once the whole message is. */
export const messageEvents = (
  events: EventWriter,
  message: Message,
  { source, at, published }: MessageEventsOptions,
): RunEvent[] => (published.whole ? [] : events.message(message, source, at, published));

/**
 * The events of committed steps that the log lacks: those that their worker would have published, had it lived. `ended` gets the ids of
 * their messages.
 */
export const missingStepEvents = (
  events: EventWriter,
  granularity: Granularity,
  steps: readonly CommittedStep[],
  log: PublishedEvents,
  ended: Set<string> = new Set(),
): RunEvent[] =>
  steps.flatMap((committed) => {
    const { step, nodes, at, messages } = committed;
    const published = log.step(step, new Set(ended));
    for (const { message_id: id } of messages) ended.add(id);
    const started = nodes
      .filter((node) => !published.has('started', node) && !published.has('restarted', node))
      .map((node) => events.write('on_chain_stream', { node, step, status: 'started' }, { node, step }, { at }));
    return [...started, ...stepEvents(events, granularity, committed, published)];
  });
