import { ErrorCode, NatsError, type Msg } from 'nats';
import { follows } from '../../../ports/log-numbers.ts';
import type { NatsClient } from '../client/client.ts';
import { endsPage, sequenceOf } from '../client/streams.ts';
import { fromPayload, isSliceOrReadable, type StoredFrame } from './frame.ts';
import type { StreamNames } from '../client/names.ts';
import type { NoteUnreadable } from './unreadable.ts';

/** The end of what a subject holds. */
export interface LogEnd {
  /** The last frame; `undefined` when none of its messages is one, or none of the {@link mostSearched} last ones. */
  readonly frame: StoredFrame | undefined;
  /** The sequence of the last message of the frame's subject, which the next frame names. It is the frame's, unless what follows it is no frame. */
  readonly lastSeq: number;
}

/**
 * Reads the stored frames of one run, by its subject; `*` may stand for the word before the run. Messages that are no frames are passed
 * over: workers of a pool may put anything among the events of their agents' runs.
 */
export interface Reader {
  /**
   * The end of the subject, as the stream's leader has it; `undefined` when there is no message.
   * @throws NatsError when the stream does not exist.
   */
  readonly last: (subject: string) => Promise<LogEnd | undefined>;
  /** The first frame from sequence `from` on, as the stream's leader has it; `undefined` also when the first {@link mostSearched} messages are none. */
  readonly next: (subject: string, from: number) => Promise<StoredFrame | undefined>;
  /**
   * Frames from sequence `from` on, up to `maxBytes`. The replica of the stream that answers may lack the newest ones. `undefined` when the first
   * {@link mostSearched} messages are none: what is behind them is not looked for.
   */
  readonly page: (subject: string, from: number, maxBytes: number) => Promise<readonly StoredFrame[] | undefined>;
}

const noMessage = 10_037;
const framesAtOnce = 256;
/** How far before a message that is no frame the last frame is searched first, in sequences of the stream; then before that, four times as far, and so on. */
const firstStep = 64;
const stepFactor = 4;
/**
 * How many messages are searched, and how many bytes of them: otherwise each process that needs a log would read whatever number of messages a
 * worker has put there. A log whose last frame is further away counts as lost, and what is written of it later begins after them. Readers get the end
 * of a log whose next frame is further away, and not what is before it.
 */
const mostSearched: SearchBound = { messages: 16_384, bytes: 64 * 1024 * 1024 };

interface SearchBound {
  readonly messages: number;
  readonly bytes: number;
}

/** What a search may still read. */
type SearchLeft = { -readonly [K in keyof SearchBound]: number };

const isSpent = ({ messages, bytes }: SearchBound): boolean => messages <= 0 || bytes <= 0;

function spend(left: SearchLeft, read: readonly StoredMessage[]): void {
  left.messages -= read.length;
  left.bytes -= read.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** A message of the stream: its frame, where it is one. */
interface StoredMessage {
  readonly subject: string;
  readonly streamSeq: number;
  readonly bytes: number;
  readonly frame: StoredFrame | undefined;
}

/** `noteUnreadable` is called with the subject of each message that is no frame. */
export function createReader(client: NatsClient, { events }: StreamNames, noteUnreadable: NoteUnreadable): Reader {
  const noted = (message: StoredMessage): StoredMessage => {
    if (!message.frame) noteUnreadable(message.subject);
    return message;
  };

  const requestMessage = async (query: Record<string, unknown>): Promise<StoredMessage | undefined> => {
    const reply = await client.request(`$JS.API.STREAM.MSG.GET.${events}`, toJson(query));
    const { error, message } = reply.json<MessageReply>();
    if (error?.err_code === noMessage) return undefined;
    if (error || !message) throw streamAway(error?.description);
    const { subject, seq: streamSeq, time } = message;
    const payload = Buffer.from(message.data ?? '', 'base64');
    const found = fromPayload(payload);
    const frame = found && { ...found, subject, streamSeq, at: Date.parse(time) };
    return noted({ subject, streamSeq, bytes: payload.byteLength, frame });
  };

  const nextMessage = async (subject: string, from: number): Promise<StoredMessage | undefined> =>
    requestMessage({ seq: Math.max(1, from), next_by_subj: subject });

  /** Messages from a sequence on, as one replica of the stream has them; none when it has none. */
  const requestPage = async (subject: string, from: number, maxBytes: number): Promise<readonly StoredMessage[]> => {
    const query = { seq: Math.max(1, from), next_by_subj: subject, batch: framesAtOnce, max_bytes: maxBytes };
    const replies = await client.requestMany(`$JS.API.DIRECT.GET.${events}`, toJson(query), endsPage);
    return replies.filter((reply) => !endsPage(reply)).map((reply) => noted(toMessage(reply)));
  };

  /** Messages from a sequence on. A replica that has none there may lag behind: then the leader's next one is read. */
  const requestSome = async (subject: string, from: number): Promise<readonly StoredMessage[]> => {
    const page = await requestPage(subject, from, pageBytes);
    const next = page.length > 0 ? undefined : await nextMessage(subject, from);
    return next ? [next] : page;
  };

  /** The frames among the first messages of which one is readable; none after the last message, `undefined` where it would have to be searched further. */
  const firstFrames = async (
    from: number,
    request: (from: number) => Promise<readonly StoredMessage[]>,
  ): Promise<readonly StoredFrame[] | undefined> => {
    const left = { ...mostSearched };
    for (let at = from; !isSpent(left);) {
      const messages = await request(at);
      const end = messages.at(-1);
      if (!end || messages.some(isReadable)) return messages.flatMap(({ frame }) => frame ?? []);
      for (const { subject, frame } of messages) if (frame) noteUnreadable(subject);
      spend(left, messages);
      at = end.streamSeq + 1;
    }
    return undefined;
  };

  /**
   * The last readable frame from one sequence up to another one, after which the leader has a message of the subject. `undefined` also where
   * more would have to be read than is left.
   */
  const lastBetween = async (
    subject: string,
    { from, to }: { readonly from: number; readonly to: number },
    left: SearchLeft,
  ): Promise<StoredFrame | undefined> => {
    let found: StoredFrame | undefined;
    for (let at = from; at < to;) {
      if (isSpent(left)) return undefined;
      const messages = await requestSome(subject, at);
      spend(left, messages);
      found = messages.findLast((each) => each.streamSeq < to && isReadable(each))?.frame ?? found;
      at = (messages.at(-1)?.streamSeq ?? to) + 1;
    }
    return found;
  };

  /** The last readable frame before a message that is none, as far as is searched. */
  const lastBefore = async (subject: string, streamSeq: number): Promise<StoredFrame | undefined> => {
    const left = { ...mostSearched };
    let found: StoredFrame | undefined;
    for (let to = streamSeq, step = firstStep; to > 1 && !found && !isSpent(left); step *= stepFactor) {
      const from = Math.max(1, to - step);
      found = await lastBetween(subject, { from, to }, left);
      to = from;
    }
    return found;
  };

  const last = async (subject: string): Promise<LogEnd | undefined> => {
    const message = await requestMessage({ last_by_subj: subject });
    if (!message) return undefined;
    const { streamSeq } = message;
    if (isReadable(message)) return { frame: message.frame, lastSeq: streamSeq };
    if (message.frame) noteUnreadable(message.subject);
    const frame = await lastBefore(subject, streamSeq);
    // For `*` the message may be of another subject than the frame.
    return frame && frame.subject !== message.subject ? last(frame.subject) : { frame, lastSeq: streamSeq };
  };

  return {
    last,

    next: async (subject, from) => (await firstFrames(from, async (at) => requestSome(subject, at)))?.[0],

    page: async (subject, from, maxBytes) => firstFrames(from, async (at) => requestPage(subject, at, maxBytes)),
  };
}

/** What the server sends after a page is no message of the stream, and has no sequence. One of the stream may be without content too. */
const isReadable = ({ frame }: StoredMessage): boolean => frame !== undefined && isSliceOrReadable(frame);

const toJson = (query: Record<string, unknown>): Uint8Array => Buffer.from(JSON.stringify(query));

interface MessageReply {
  readonly error?: { readonly err_code: number; readonly description: string };
  readonly message?: {
    readonly subject: string;
    readonly seq: number;
    readonly time: string;
    readonly data?: string;
  };
}

/** Bytes of frames that are read at once. */
export const pageBytes = 128 * 1024;

/** The sequences that a log lies between, and the number of its last event. */
interface Extent {
  readonly origin: number;
  readonly streamSeq: number;
  readonly last: number;
}

/** All readable frames of a log; none when they are larger than `maxBytes`, or not all there, or hold slices of events. */
export async function readWhole(
  { page }: Reader,
  subject: string,
  { origin, streamSeq, last }: Extent,
  maxBytes: number,
): Promise<readonly StoredFrame[]> {
  const frames: StoredFrame[] = [];
  let bytes = 0;
  let end = 0;
  for (let from = origin + 1; from <= streamSeq;) {
    const read = (await page(subject, from, pageBytes))?.filter((frame) => frame.streamSeq <= streamSeq);
    const newest = read?.at(-1);
    if (!read || !newest) return [];
    for (const frame of read.filter(isSliceOrReadable)) {
      bytes += frame.body.byteLength;
      if (frame.slices > 1 || !follows(end, frame.first) || bytes > maxBytes) return [];
      end = frame.last;
      frames.push(frame);
    }
    from = newest.streamSeq + 1;
  }
  return end === last ? frames : [];
}

/** The frame in a message that the server republished or returned, with its sequence and time in the headers; `undefined` when it is none. */
export function toStored(message: Msg, subject = subjectOf(message)): StoredFrame | undefined {
  const frame = fromPayload(message.data);
  const at = Date.parse(message.headers?.get('Nats-Time-Stamp') ?? '');
  return frame && { ...frame, subject, streamSeq: sequenceOf(message), at };
}

/** The subject that a message which the server returned has in the stream. */
const subjectOf = (message: Msg): string => message.headers?.get('Nats-Subject') ?? '';

/** A message that the server returned. */
const toMessage = (reply: Msg): StoredMessage => ({
  ...{ subject: subjectOf(reply), streamSeq: sequenceOf(reply), bytes: reply.data.byteLength },
  frame: toStored(reply),
});

const streamAway = (description = 'the stream is unavailable'): Error =>
  new NatsError(description, ErrorCode.NoResponders);
