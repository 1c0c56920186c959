import { repeatingData, type EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { withoutProviderData, type Message } from '@agent-workflow/protos/message';
import type { MessageChunk } from '@agent-workflow/graph/state/message';
import { chunksOf } from '@agent-workflow/graph/state/message-chunks';
import { inOrder, type InvokeResult } from './outcome.ts';
import { nothingPublished, type PublishedMessage, type PublishedStep } from './published.ts';

/** The node, step and message of its run that an event belongs to. */
export type EventSource = Pick<RunEvent, 'node' | 'step' | 'messageId' | 'role'>;

interface Extra {
  /** In milliseconds since 1970; absent: by the clock of the writer. */
  readonly at?: number;
  readonly message?: Message;
  readonly state?: Readonly<Record<string, unknown>>;
}

/** Numbers and serialises the events of one run, in which no message has provider data. */
export interface EventWriter {
  /** The run whose events these are. */
  readonly scope: RunScope;
  /** What an earlier claim of the run published of the step that this one begins with. */
  readonly published: Pick<PublishedStep, 'message'>;
  /** The number of the last event written. */
  readonly last: () => number;
  readonly write: (kind: EventKind, data: unknown, source?: EventSource, extra?: Extra) => RunEvent;
  /** The last event of a run that did not fail. */
  readonly end: (result: InvokeResult, at: number) => RunEvent;
  /** One chunk that a node emitted: the path of every token. */
  readonly chunk: (node: string, step: number, chunk: MessageChunk) => RunEvent;
  /** The events of a whole message: its chunks that are not published yet, then the message itself. */
  readonly message: (message: Message, source: EventSource, at: number, published: PublishedMessage) => RunEvent[];
}

const nothingBefore: EventWriter['published'] = { message: () => nothingPublished };

/** The first event that it writes has the number following `after`. `now`: the clock by which events are dated that come with no time. */
export function createEventWriter(
  { runId, threadId, requestId, isNewThread }: RunScope,
  after: number,
  now: () => number = Date.now,
  published: EventWriter['published'] = nothingBefore,
): EventWriter {
  let seq = after;

  const write: EventWriter['write'] = (kind, data, source = {}, { at = now(), message, state } = {}) => ({
    seq: ++seq,
    kind,
    at,
    ...source,
    data: toJson(data),
    ...(message && { message: toJson(message) }),
    ...(state && { state: toJson(state) }),
  });

  const end: EventWriter['end'] = ({ first, state, last }, at) => {
    if (!state) return write('on_chain_end', { ...first, ...last }, {}, { at });
    // `values` always holds `context_summary`, and `last` always holds `iterations`: no object that is cut open here is empty.
    const before = `${openObject(first)},"state":${openObject(inOrder(state.values))}`;
    const part = `,"context":${JSON.stringify(state.context.map(withoutProviderData))}`;
    const after = `,${JSON.stringify(last).slice(1)}`;
    return { seq: ++seq, kind: 'on_chain_end', at, ...repeatingData({ before, part, between: '}', after }) };
  };

  return {
    scope: { runId, threadId, requestId, isNewThread },
    published,
    last: () => seq,
    write,
    end,
    chunk: (node, step, { messageId, role, chunk }) => ({
      ...{ seq: ++seq, kind: 'messages_chunk', at: now(), node, step, messageId, role, emitted: true },
      data: toJson(typeof chunk === 'string' ? chunk : withoutProviderData({ content: [chunk] }).content[0]),
    }),
    message: (given, source, at, published) => {
      const message = withoutProviderData(given);
      const whole = { ...source, messageId: message.message_id, role: message.role };
      const chunks = chunksOf(message, published).map((chunk) => write('messages_chunk', chunk, whole, { at }));
      return [...chunks, write('messages_chunk', '', whole, { at, message })];
    },
  };
}

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** An object as JSON without its closing brace. */
const openObject = (value: object): string => JSON.stringify(value).slice(0, -1);
