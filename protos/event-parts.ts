import type { Repeat, RunEvent } from './execution.ts';

/** The kinds of event. `on_chain_end` or `error` is a run's last one. */
export const eventKinds = [
  'metadata',
  'on_chain_start',
  'on_chain_stream',
  'on_chain_end',
  'messages_chunk',
  'state_chunk',
  'context_chunk',
  'summary_chunk',
  'error',
] as const;
export type EventKind = (typeof eventKinds)[number];

/** Data in which one part occurs twice: the context of the thread is in it as `state.context` and as `context`. */
interface RepeatingData {
  readonly before: string;
  /** The part that occurs twice. */
  readonly part: string;
  /** The text between the two occurrences. */
  readonly between: string;
  readonly after: string;
}

/** A smaller part is stored twice, because it costs little. */
const repeatedBytes = 64 * 1024;

/** The data of an event as it is stored and sent: a large part is in it once. */
export function repeatingData({ before, part, between, after }: RepeatingData): Pick<RunEvent, 'data' | 'repeat'> {
  if (part.length < repeatedBytes) return { data: Buffer.from(`${before}${part}${between}${part}${after}`) };
  const parts = [before, part, between, after].map((text) => Buffer.from(text));
  const [offset = 0, length = 0, gap = 0] = parts.map(({ byteLength }) => byteLength);
  const repeat: Repeat = { offset, length, target: offset + length + gap };
  return { data: Buffer.concat(parts), repeat };
}

/** The data of an event as a caller reads it, as consecutive views of its bytes: nothing is copied. */
export function partsOfData({ data, repeat }: Pick<RunEvent, 'data' | 'repeat'>): readonly Uint8Array[] {
  if (!repeat) return [data];
  const { offset, length, target } = repeat;
  return [data.subarray(0, target), data.subarray(offset, offset + length), data.subarray(target)];
}

/** The most bytes that an event takes beside its JSON texts and its names. */
const otherBytes = 192;
/** The most bytes that one character of a name takes in JSON. */
const characterBytes = 6;

/** The most bytes that an event takes in a log or on the wire. */
export function bytesOfEvent({ data, message, state, node, messageId, role, tasks }: RunEvent): number {
  const names = (node?.length ?? 0) + (messageId?.length ?? 0) + (role?.length ?? 0) + (tasks?.length ?? 0);
  const texts = data.byteLength + (message?.byteLength ?? 0) + (state?.byteLength ?? 0);
  return texts + otherBytes + names * characterBytes;
}
