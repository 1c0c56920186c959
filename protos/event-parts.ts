import type { Repeat, RunEvent } from './execution.ts';

/** The kinds of event. `on_chain_end` or `error` is a run's last one. */
export const eventKinds = [
  'metadata',
  'on_chain_start',
  'on_chain_stream',
  'messages_chunk',
  'state_chunk',
  'context_chunk',
  'summary_chunk',
  'on_chain_end',
  'error',
] as const;
export type EventKind = (typeof eventKinds)[number];

/** Data in which one part stands at two places: the thread's context does, as `state.context` and as `context`. */
export interface RepeatingData {
  readonly before: string;
  /** What stands at two places. */
  readonly part: string;
  /** What stands between the two. */
  readonly between: string;
  readonly after: string;
}

/** Below this a part is written twice: so little costs nothing. */
const repeatedBytes = 64 * 1024;

/** The data of an event as it is stored and sent: a large part stands in it once. */
export function repeatingData({ before, part, between, after }: RepeatingData): Pick<RunEvent, 'data' | 'repeat'> {
  if (part.length < repeatedBytes) return { data: Buffer.from(`${before}${part}${between}${part}${after}`) };
  const pieces = [before, part, between, after].map((text) => Buffer.from(text));
  const [offset = 0, length = 0, gap = 0] = pieces.map(({ byteLength }) => byteLength);
  const repeat: Repeat = { offset, length, target: offset + length + gap };
  return { data: Buffer.concat(pieces), repeat };
}

/** The data of an event as a caller reads it, in views that follow each other: nothing is copied. */
export function partsOfData({ data, repeat }: Pick<RunEvent, 'data' | 'repeat'>): readonly Uint8Array[] {
  if (!repeat) return [data];
  const { offset, length, target } = repeat;
  return [data.subarray(0, target), data.subarray(offset, offset + length), data.subarray(target)];
}

/** The JSON texts of an event, as they are stored. */
export function textsOf({ data, message, state }: Pick<RunEvent, 'data' | 'message' | 'state'>): readonly Uint8Array[] {
  if (!message && !state) return [data];
  return [data, ...(message ? [message] : []), ...(state ? [state] : [])];
}

/** What the rest of an event takes beside its JSON texts, at most, in bytes; its names count as they are. */
const otherBytes = 192;
/** Bytes that one character of a name can have in JSON. */
const characterBytes = 6;

/** What an event takes in a log or on the wire, at most, in bytes. */
export function bytesOfEvent({ data, message, state, node, messageId, role }: RunEvent): number {
  const names = (node?.length ?? 0) + (messageId?.length ?? 0) + (role?.length ?? 0);
  const texts = data.byteLength + (message?.byteLength ?? 0) + (state?.byteLength ?? 0);
  return texts + otherBytes + names * characterBytes;
}
