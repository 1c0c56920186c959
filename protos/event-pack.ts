import type { Repeat, RunEvent, RunScope } from './execution.ts';

/** Consecutive events of one run, and what they share. */
export interface EventBatch {
  readonly scope: RunScope;
  readonly events: readonly RunEvent[];
}

/**
 * The header of consecutive events as the stores keep them: one line of JSON with all but the texts, and the length of each text. After
 * it come the texts, one after another. Events that differ only in texts and times, for example the chunks of a message, share a place.
 */
interface Header {
  readonly scope: RunScope;
  readonly places: readonly Place[];
  readonly events: readonly PackedEvent[];
}

type Place = Pick<RunEvent, 'kind' | 'node' | 'step' | 'messageId' | 'role' | 'emitted' | 'tasks'>;

/** Of one event: the index of its place, its time, the lengths of its texts in bytes (-1: no text), and the repeated part of its data. */
type PackedEvent = readonly [
  place: number,
  at: number,
  data: number,
  message?: number,
  state?: number,
  ...repeat: readonly number[],
];

const newline = 0x0a;

/** Packs events. Their numbers are consecutive, so the store keeps only the first one. */
export function packEvents({ scope, events }: EventBatch): Uint8Array {
  const places: Place[] = [];
  const packed: PackedEvent[] = [];
  const texts: Uint8Array[] = [];
  let last: RunEvent | undefined;
  for (const event of events) {
    if (!last || !isSamePlace(last, event)) places.push(placeOf(event));
    packed.push(packedOf(places.length - 1, event));
    texts.push(event.data);
    if (event.message) texts.push(event.message);
    if (event.state) texts.push(event.state);
    last = event;
  }
  const { runId, threadId, requestId, isNewThread } = scope;
  const header: Header = { scope: { runId, threadId, requestId, isNewThread }, places, events: packed };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...texts]);
}

const isSamePlace = (one: Place, other: Place): boolean =>
  one.messageId === other.messageId &&
  one.kind === other.kind &&
  one.node === other.node &&
  one.step === other.step &&
  one.role === other.role &&
  one.emitted === other.emitted &&
  one.tasks === other.tasks;

const placeOf = ({ kind, node, step, messageId, role, emitted, tasks }: RunEvent): Place =>
  // JSON leaves out what is not there.
  ({ kind, node, step, messageId, role, emitted, tasks }) as Place;

function packedOf(place: number, { at, data, message, state, repeat }: RunEvent): PackedEvent {
  if (!message && !state && !repeat) return [place, at, data.byteLength];
  const { offset, length, target } = repeat ?? {};
  const texts = [message?.byteLength ?? -1, state?.byteLength ?? -1] as const;
  return [place, at, data.byteLength, ...texts, ...(repeat ? [offset ?? 0, length ?? 0, target ?? 0] : [])];
}

/** Unpacks events; their texts are views of `bytes`. `first` is the number of the first event. */
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
