import { ErrorCode, NatsError, type Msg } from 'nats';
import { follows } from '../../../ports/log-numbers.ts';
import type { NatsClient } from '../client/client.ts';
import { fromPayload, type StoredFrame } from './frame.ts';
import type { StreamNames } from '../client/streams.ts';

/** Reads the stored frames of one run, by its subject; `*` may stand for the word before the run. */
export interface Reader {
  /**
   * The last frame of the subject, as the stream's leader has it; `undefined` when there is none.
   * @throws NatsError when the stream does not exist.
   */
  readonly last: (subject: string) => Promise<StoredFrame | undefined>;
  /** The first frame from sequence `from` on, as the stream's leader has it. */
  readonly next: (subject: string, from: number) => Promise<StoredFrame | undefined>;
  /** Frames from sequence `from` on, up to `maxBytes`. The replica of the stream that answers may lack the newest ones. */
  readonly page: (subject: string, from: number, maxBytes: number) => Promise<readonly StoredFrame[]>;
}

const noMessage = 10_037;
const framesAtOnce = 256;

export function createReader(client: NatsClient, { events }: StreamNames): Reader {
  const requestFrame = async (query: Record<string, unknown>): Promise<StoredFrame | undefined> => {
    const reply = await client.request(`$JS.API.STREAM.MSG.GET.${events}`, Buffer.from(JSON.stringify(query)));
    const { error, message } = reply.json<MessageReply>();
    if (error?.err_code === noMessage) return undefined;
    if (error || !message) throw streamAway(error?.description);
    const payload = Buffer.from(message.data ?? '', 'base64');
    const { subject, seq: streamSeq, time } = message;
    return { ...fromPayload(payload), subject, streamSeq, at: Date.parse(time) };
  };

  return {
    last: (subject) => requestFrame({ last_by_subj: subject }),
    next: (subject, from) => requestFrame({ seq: Math.max(1, from), next_by_subj: subject }),

    page: async (subject, from, maxBytes) => {
      const query = { seq: Math.max(1, from), next_by_subj: subject, batch: framesAtOnce, max_bytes: maxBytes };
      const replies = await client.requestMany(`$JS.API.DIRECT.GET.${events}`, Buffer.from(JSON.stringify(query)));
      return replies.filter(({ data }) => data.length > 0).map(toStored);
    },
  };
}

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

/** All frames of a log; none when they are larger than `maxBytes`, or not all there, or hold slices of events. */
export async function readWhole(
  { page }: Reader,
  subject: string,
  { origin, streamSeq, last }: Extent,
  maxBytes: number,
): Promise<readonly StoredFrame[]> {
  const frames: StoredFrame[] = [];
  let bytes = 0;
  let end = 0;
  for (let from = origin + 1; from <= streamSeq; from = (frames.at(-1)?.streamSeq ?? streamSeq) + 1) {
    const read = (await page(subject, from, pageBytes)).filter((frame) => frame.streamSeq <= streamSeq);
    for (const frame of read) {
      bytes += frame.body.byteLength;
      if (frame.slices > 1 || !follows(end, frame.first) || bytes > maxBytes) return [];
      end = frame.last;
    }
    if (read.length === 0) return [];
    frames.push(...read);
  }
  return end === last ? frames : [];
}

/** A message that the server republished or returned, with its sequence and time in the headers. */
export const toStored = (message: Msg): StoredFrame => ({
  ...fromPayload(message.data),
  subject: message.headers?.get('Nats-Subject') ?? '',
  streamSeq: sequenceOf(message),
  at: Date.parse(message.headers?.get('Nats-Time-Stamp') ?? ''),
});

/** The sequence of a message in its stream. */
export const sequenceOf = (message: Msg): number => Number(message.headers?.get('Nats-Sequence') ?? 0);

const streamAway = (description = 'the stream is away'): Error => new NatsError(description, ErrorCode.NoResponders);
