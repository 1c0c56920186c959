import { repeatingData, type EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { Piece } from '@agent-workflow/graph/state/message';
import { inOrder, type InvokeResult } from './outcome.ts';
import { untoldPieces, type Told } from './told.ts';

/** Where in its run an event belongs. */
export type EventPlace = Pick<RunEvent, 'node' | 'step' | 'messageId' | 'role'>;

interface Extra {
  /** In milliseconds since 1970; now, when absent. */
  readonly at?: number;
  readonly message?: Message;
  readonly state?: Readonly<Record<string, unknown>>;
}

/** Numbers and writes the events of one run. */
export interface EventWriter {
  /** Whose events these are. */
  readonly scope: RunScope;
  /** The number of the last event written. */
  readonly last: () => number;
  readonly write: (kind: EventKind, data: unknown, place?: EventPlace, extra?: Extra) => RunEvent;
  /** The last event of a run that did not fail. */
  readonly end: (result: InvokeResult, at: number) => RunEvent;
  /** What a node emitted of a message: the path that every token takes. */
  readonly piece: (node: string, step: number, piece: Piece) => RunEvent;
  /** The events that publish a whole message: its chunks that were not published before, then the message itself. */
  readonly message: (message: Message, place: EventPlace, at: number, told: Told) => RunEvent[];
}

/** Starts writing after event number `after`. */
export function createEventWriter({ runId, threadId, requestId, isNewThread }: RunScope, after: number): EventWriter {
  let seq = after;

  const write: EventWriter['write'] = (kind, data, place = {}, { at = Date.now(), message, state } = {}) => ({
    seq: ++seq,
    kind,
    at,
    ...place,
    data: toJson(data),
    ...(message && { message: toJson(message) }),
    ...(state && { state: toJson(state) }),
  });

  const end: EventWriter['end'] = ({ first, state, last }, at) => {
    if (!state) return write('on_chain_end', { ...first, ...last }, {}, { at });
    // `context_summary` is always among the values, and `iterations` behind.
    const before = `${openObject(first)},"state":${openObject(inOrder(state.values))}`;
    const part = `,"context":${JSON.stringify(state.context)}`;
    const after = `,${JSON.stringify(last).slice(1)}`;
    return { seq: ++seq, kind: 'on_chain_end', at, ...repeatingData({ before, part, between: '}', after }) };
  };

  return {
    scope: { runId, threadId, requestId, isNewThread },
    last: () => seq,
    write,
    end,
    piece: (node, step, { messageId, role, piece }) => ({
      ...{ seq: ++seq, kind: 'messages_chunk', at: Date.now(), node, step, messageId, role, emitted: true },
      data: toJson(piece),
    }),
    message: (message, place, at, told) => {
      const whole = { ...place, messageId: message.message_id, role: message.role };
      const pieces = untoldPieces(message, told).map((piece) => write('messages_chunk', piece, whole, { at }));
      return [...pieces, write('messages_chunk', '', whole, { at, message })];
    },
  };
}

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** An object as JSON, but for the brace that ends it. */
const openObject = (value: object): string => JSON.stringify(value).slice(0, -1);
