import { repeatingData, type EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { withoutProviderData, type Message } from '@agent-workflow/protos/message';
import type { MessageChunk } from '@agent-workflow/graph/state/message';
import { chunksOf } from '@agent-workflow/graph/state/message-chunks';
import { keptName, type KeptTasks } from '@agent-workflow/protos/step-tasks';
import type { Granularity } from '@agent-workflow/protos/lists';
import type { CommittedStep } from '../record/committed-step.ts';
import { inOrder, shownAt, type InvokeResult } from './outcome.ts';
import { nothingPublished, type PublishedEvents, type PublishedMessage, type PublishedStep } from './published.ts';

/** The node, step and message of its run that an event belongs to. */
type EventSource = Pick<RunEvent, 'node' | 'step' | 'messageId' | 'role'>;

interface Extra {
  /** In milliseconds since 1970; absent: by the clock of the writer. */
  readonly at?: number;
  readonly message?: Message;
  readonly state?: Readonly<Record<string, unknown>>;
}

const nothingBefore: Pick<PublishedStep, 'message'> = { message: () => nothingPublished };

/** Numbers and serialises the events of one run, in which no message has provider data. */
export class EventWriter {
  /** The run whose events these are. */
  readonly scope: RunScope;
  /** What an earlier claim of the run published of the step that this one begins with. */
  readonly published: Pick<PublishedStep, 'message'>;
  /** The number of the last event written. */
  last: number;
  readonly #now: () => number;

  /** The first event that it writes has the number following `after`. `now`: the clock by which events are dated that come with no time. */
  constructor(
    { runId, threadId, requestId, isNewThread }: RunScope,
    after: number,
    now: () => number = Date.now,
    published: Pick<PublishedStep, 'message'> = nothingBefore,
  ) {
    this.scope = { runId, threadId, requestId, isNewThread };
    this.published = published;
    this.last = after;
    this.#now = now;
  }

  write(kind: EventKind, data: unknown, source: EventSource = {}, { at, message, state }: Extra = {}): RunEvent {
    const event = { seq: ++this.last, kind, at: at ?? this.#now(), ...source, data: toJson(data) };
    if (!message && !state) return event;
    return { ...event, ...(message && { message: toJson(message) }), ...(state && { state: toJson(state) }) };
  }

  /** The last event of a run that did not fail. */
  end({ first, state, last }: InvokeResult, at: number): RunEvent {
    if (!state) return this.write('on_chain_end', { ...first, ...last }, {}, { at });
    // `values` always holds `context_summary`, and `last` always holds `iterations`: no object that is cut open here is empty.
    const before = `${openObject(first)},"state":${openObject(inOrder(state.values))}`;
    const part = `,"context":${JSON.stringify(state.context.map(withoutProviderData))}`;
    const after = `,${JSON.stringify(last).slice(1)}`;
    return { seq: ++this.last, kind: 'on_chain_end', at, ...repeatingData({ before, part, between: '}', after }) };
  }

  /** One chunk that a node emitted: the path of every token. */
  chunk(node: string, step: number, { messageId, role, chunk }: MessageChunk): RunEvent {
    const data = toJson(typeof chunk === 'string' ? chunk : withoutProviderData({ content: [chunk] }).content[0]);
    return {
      ...{ seq: ++this.last, kind: 'messages_chunk', at: this.#now(), node, step, messageId, role, emitted: true },
      data,
    };
  }

  /** The events of a whole message: its chunks that are not published yet, then the message itself. */
  message(given: Message, source: EventSource, at: number, published: PublishedMessage): RunEvent[] {
    const message = withoutProviderData(given);
    const whole = { ...source, messageId: message.message_id, role: message.role };
    const chunks = chunksOf(message, published).map((chunk) => this.write('messages_chunk', chunk, whole, { at }));
    return [...chunks, this.write('messages_chunk', '', whole, { at, message })];
  }
}

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** An object as JSON without its closing brace. */
const openObject = (value: object): string => JSON.stringify(value).slice(0, -1);

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
  const tasks = (fields[keptName] as KeptTasks | undefined)?.given;
  for (const [index, node] of nodes.entries()) {
    if (published.has('completed', node)) continue;
    const ended = events.write('on_chain_stream', { node, step, status: 'completed' }, { node, step }, { at });
    list.push(index === 0 && shown.state && tasks !== undefined ? { ...ended, tasks: JSON.stringify(tasks) } : ended);
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
