import type { Message } from '@agent-workflow/protos/message';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { toEventJson } from '@agent-workflow/protos/event-json';
import type { Piece } from '@agent-workflow/graph/state/message';
import { inOrder, type InvokeResult } from './outcome.ts';
import { untoldPieces, type Told } from './told.ts';

/** Whose events these are: stands on each. */
export interface EventScope {
  readonly runId: string;
  readonly threadId: string;
  readonly requestId: string;
  readonly isNewThread: boolean;
}

/** Where in the run an event belongs. */
interface Place {
  readonly node?: string;
  readonly step?: number;
  readonly message_id?: string;
  readonly role?: string;
}

interface Extra {
  readonly message?: Message;
  readonly state?: Readonly<Record<string, unknown>>;
}

/** Numbers and writes the events of one run, in the shape of a stream chunk. */
export interface EventWriter {
  /** The number of the last event written. */
  readonly last: () => number;
  readonly write: (event: string, data: unknown, place?: Place, extra?: Extra & { readonly at?: number }) => RunEvent;
  /** The last event of a run that did not fail. */
  readonly end: (result: InvokeResult, at: number) => RunEvent;
  /** One piece of a message: the path that every token takes. */
  readonly piece: (node: string, step: number, piece: Piece) => RunEvent;
  /** The events that say a whole message: the pieces that were not told before, then the message itself. */
  readonly message: (message: Message, place: Place, at: number, told: Told) => RunEvent[];
}

/** Starts writing after event number `after`. */
export function createEventWriter(scope: EventScope, after: number): EventWriter {
  let seq = after;
  const ids = `,"thread_id":${JSON.stringify(scope.threadId)},"run_id":${JSON.stringify(scope.runId)},"metadata":`;
  const clock = createClock();

  const toEvent = (event: string, body: string, metadata: string, at: number): RunEvent => ({
    seq: ++seq,
    event,
    json: Buffer.from(`{"event":"${event}","data":${body}${ids}${metadata},"timestamp":"${clock(at)}"}`),
  });
  const { requestId: request_id, threadId: thread_id, isNewThread: is_new_thread } = scope;
  const toMetadata = (place: Place): string => JSON.stringify({ request_id, thread_id, is_new_thread, ...place });

  const write: EventWriter['write'] = (event, data, place = {}, { at = Date.now(), message, state } = {}) => {
    const extras = `${message ? `,"message":${JSON.stringify(message)}` : ''}${state ? `,"state":${JSON.stringify(state)}` : ''}`;
    return toEvent(event, `${JSON.stringify(data)}${extras}`, toMetadata(place), at);
  };

  const end: EventWriter['end'] = ({ first, state, last }, at) => {
    if (!state) return write('on_chain_end', { ...first, ...last }, {}, { at });
    // `context_summary` is always among the values, and `iterations` behind.
    const before = `"data":${openObject(first)},"state":${openObject(inOrder(state.values))}`;
    const after = `,${JSON.stringify(last).slice(1)}${ids}${toMetadata({})},"timestamp":"${clock(at)}"}`;
    const part = `,"context":${JSON.stringify(state.context)}`;
    const event = 'on_chain_end';
    return { seq: ++seq, event, json: toEventJson({ event, before, part, between: '}', after }) };
  };

  // Pieces of one message share all but their text: the rest is written once.
  let lastPiece = { messageId: '', node: '', metadata: '' };
  const metadataOf = (node: string, step: number, { messageId, role }: Piece): string => {
    if (lastPiece.messageId !== messageId || lastPiece.node !== node) {
      lastPiece = { messageId, node, metadata: toMetadata({ node, step, message_id: messageId, role }) };
    }
    return lastPiece.metadata;
  };

  return {
    last: () => seq,
    write,
    end,
    piece: (node, step, piece) =>
      toEvent('messages_chunk', JSON.stringify(piece.piece), metadataOf(node, step, piece), Date.now()),
    message: (message, place, at, told) => {
      const whole = { ...place, message_id: message.message_id, role: message.role };
      const pieces = untoldPieces(message, told).map((piece) => write('messages_chunk', piece, whole, { at }));
      return [...pieces, write('messages_chunk', '', whole, { at, message })];
    },
  };
}

/** An object as JSON, but for the brace that ends it. */
const openObject = (value: object): string => JSON.stringify(value).slice(0, -1);

/** ISO 8601 of a time in milliseconds; the text is remembered, because many events share a millisecond. */
function createClock(): (at: number) => string {
  let known = Number.NaN;
  let text = '';
  return (at) => {
    if (at !== known) {
      known = at;
      text = new Date(at).toISOString();
    }
    return text;
  };
}
