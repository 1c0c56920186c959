import { invalid } from '@agent-workflow/kit/errors';
import { ErrorCode, NatsError, type Msg } from 'nats';
import { follows } from '../../../ports/log-numbers.ts';
import type { NatsClient } from '../client.ts';
import { fromPayload, type StoredFrame } from './frame.ts';
import { hashOf, type StreamNames } from '../streams.ts';

/** Reads what is stored of one run. */
export interface Reader {
  /**
   * The last frame under the subject, as the stream's leader has it; `undefined` when there is none.
   * @throws NatsError when the stream is not there.
   */
  readonly last: (subject: string) => Promise<StoredFrame | undefined>;
  /** The first frame at or behind place `from`, as the stream's leader has it. */
  readonly next: (subject: string, from: number) => Promise<StoredFrame | undefined>;
  /** Frames from place `from` on, as many as weigh `maxBytes`; a replica of the stream may not have the newest ones. */
  readonly page: (subject: string, from: number, maxBytes: number) => Promise<readonly StoredFrame[]>;
}

/** Shards that runs are divided into, so that they can be spread over streams or accounts by subject. */
const shards = 16;

/** The subject of a run's events. Run ids are made by us; one that could not stand in a subject is none. */
export function eventSubjectOf({ eventSubject }: StreamNames, runId: string): string {
  if (!/^[\w-]{1,256}$/.test(runId)) throw invalid(['runId'], 'is not an id of a run');
  return `${eventSubject}.${hashOf(runId) % shards}.${runId}`;
}

const noMessage = 10_037;
const framesAtOnce = 256;

export function createReader(client: NatsClient, { events }: StreamNames): Reader {
  const ask = async (query: Record<string, unknown>): Promise<StoredFrame | undefined> => {
    const reply = await client.request(`$JS.API.STREAM.MSG.GET.${events}`, Buffer.from(JSON.stringify(query)));
    const { error, message } = reply.json<MessageReply>();
    if (error?.err_code === noMessage) return undefined;
    if (error || !message) throw streamAway(error?.description);
    const payload = Buffer.from(message.data ?? '', 'base64');
    return { ...fromPayload(payload), seq: message.seq, at: Date.parse(message.time) };
  };

  return {
    last: (subject) => ask({ last_by_subj: subject }),
    next: (subject, from) => ask({ seq: Math.max(1, from), next_by_subj: subject }),

    page: async (subject, from, maxBytes) => {
      const query = { seq: Math.max(1, from), next_by_subj: subject, batch: framesAtOnce, max_bytes: maxBytes };
      const replies = await client.requestMany(`$JS.API.DIRECT.GET.${events}`, Buffer.from(JSON.stringify(query)));
      return replies.filter(({ data }) => data.length > 0).map(toStored);
    },
  };
}

interface MessageReply {
  readonly error?: { readonly err_code: number; readonly description: string };
  readonly message?: { readonly seq: number; readonly time: string; readonly data?: string };
}

/** What a page may weigh, in bytes. */
export const pageBytes = 128 * 1024;

/** Where the frames of a log stand, and the number of its last event. */
interface Extent {
  readonly origin: number;
  readonly seq: number;
  readonly last: number;
}

/** All frames of a log; none where they weigh more than `maxBytes`, or are not all there and whole. */
export async function readWhole(
  { page }: Reader,
  subject: string,
  { origin, seq, last }: Extent,
  maxBytes: number,
): Promise<readonly StoredFrame[]> {
  const frames: StoredFrame[] = [];
  let bytes = 0;
  let end = 0;
  for (let from = origin + 1; from <= seq; from = (frames.at(-1)?.seq ?? seq) + 1) {
    const read = (await page(subject, from, pageBytes)).filter((frame) => frame.seq <= seq);
    for (const frame of read) {
      bytes += frame.body.byteLength;
      if (frame.parts > 1 || !follows(end, frame.first) || bytes > maxBytes) return [];
      end = frame.last;
    }
    if (read.length === 0) return [];
    frames.push(...read);
  }
  return end === last ? frames : [];
}

/** A message as the server gives or tells it, with its place and time in the headers. */
export const toStored = (message: Msg): StoredFrame => ({
  ...fromPayload(message.data),
  seq: placeOf(message),
  at: Date.parse(message.headers?.get('Nats-Time-Stamp') ?? ''),
});

/** The place of a message in its stream. */
export const placeOf = (message: Msg): number => Number(message.headers?.get('Nats-Sequence') ?? 0);

const streamAway = (description = 'the stream is away'): Error => new NatsError(description, ErrorCode.NoResponders);
