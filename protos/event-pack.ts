import { textsOf } from './event-parts.ts';
import type { Repeat, RunEvent, RunScope } from './execution.ts';
import { fromOldJson } from './old-events.ts';

/** Events of one run that follow each other, and whose they are. */
export interface EventBatch {
  readonly scope: RunScope;
  readonly events: readonly RunEvent[];
}

/**
 * Events that follow each other in one run's log, as the stores keep them: a line of JSON that says what they are and how long
 * their texts are, and behind it the texts, one after the other. Events that differ in their texts and times alone, as the chunks
 * of one message do, share their place.
 */
interface Header {
  readonly scope: RunScope;
  readonly places: readonly Place[];
  readonly events: readonly PackedEvent[];
}

type Place = Pick<RunEvent, 'kind' | 'node' | 'step' | 'messageId' | 'role' | 'emitted'>;

/** The lengths of the texts in bytes, -1 where there is none, and which part of the data is repeated. */
type PackedEvent = readonly [
  place: number,
  at: number,
  data: number,
  message?: number,
  state?: number,
  ...repeat: readonly number[],
];

const newline = 0x0a;

/** Packs events; their numbers follow each other, so that the store need keep the first one only. */
export function packEvents({ scope, events }: EventBatch): Uint8Array {
  const places: Place[] = [];
  const packed: PackedEvent[] = [];
  let last: RunEvent | undefined;
  for (const event of events) {
    if (!last || !isSamePlace(last, event)) places.push(placeOf(event));
    packed.push(packedOf(places.length - 1, event));
    last = event;
  }
  const { runId, threadId, requestId, isNewThread } = scope;
  const header: Header = { scope: { runId, threadId, requestId, isNewThread }, places, events: packed };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...events.flatMap(textsOf)]);
}

const isSamePlace = (one: Place, other: Place): boolean =>
  one.messageId === other.messageId &&
  one.kind === other.kind &&
  one.node === other.node &&
  one.step === other.step &&
  one.role === other.role &&
  one.emitted === other.emitted;

const placeOf = ({ kind, node, step, messageId, role, emitted }: RunEvent): Place => ({
  kind,
  ...(node === undefined ? {} : { node }),
  ...(step === undefined ? {} : { step }),
  ...(messageId === undefined ? {} : { messageId }),
  ...(role === undefined ? {} : { role }),
  ...(emitted === undefined ? {} : { emitted }),
});

function packedOf(place: number, { at, data, message, state, repeat }: RunEvent): PackedEvent {
  if (!message && !state && !repeat) return [place, at, data.byteLength];
  const { offset, length, target } = repeat ?? {};
  const texts = [message?.byteLength ?? -1, state?.byteLength ?? -1] as const;
  return [place, at, data.byteLength, ...texts, ...(repeat ? [offset ?? 0, length ?? 0, target ?? 0] : [])];
}

/** Unpacks events, whose texts are views of the bytes. `first` is the number of the first one. */
export function unpackEvents(first: number, bytes: Uint8Array): EventBatch {
  const stop = bytes.indexOf(newline);
  const { scope, places, events } = JSON.parse(textOf(bytes.subarray(0, stop))) as Header;
  let start = stop + 1;
  const take = (length: number): Uint8Array => bytes.subarray(start, (start += length));
  return {
    scope,
    events: events.map(([place, at, data, message = -1, state = -1, ...repeat], index) => ({
      seq: first + index,
      at,
      ...(places[place] as Place),
      data: take(data),
      ...(message < 0 ? {} : { message: take(message) }),
      ...(state < 0 ? {} : { state: take(state) }),
      ...(repeat.length === 0 ? {} : { repeat: toRepeat(repeat) }),
    })),
  };
}

const toRepeat = ([offset = 0, length = 0, target = 0]: readonly number[]): Repeat => ({ offset, length, target });

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

/**
 * Reads events that the version before has stored: one JSON text a line, the last of them perhaps without an end of line. Needed as long as `old-events.ts` is; a run's log may
 * hold some of either kind.
 */
export function fromOldLines(first: number, bytes: Uint8Array): EventBatch {
  const read: ReturnType<typeof fromOldJson>[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(newline, start);
    const stop = found === -1 ? bytes.length : found;
    read.push(fromOldJson(first + read.length, bytes.subarray(start, stop)));
    start = stop + 1;
  }
  const [one] = read;
  if (!one) throw new Error('a stored batch of events is empty');
  return { scope: one.scope, events: read.map(({ event }) => event) };
}
