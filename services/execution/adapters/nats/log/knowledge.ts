import { isServiceError } from '@agent-workflow/kit/errors';
import { NatsError } from 'nats';
import { fromNatsError, pause } from '../client.ts';
import { lastWhole, type StoredFrame } from './frame.ts';
import type { Live } from './live.ts';
import type { Reader } from './reader.ts';
import { isStreamAway, type Streams } from '../streams.ts';
import type { Tail } from './tail.ts';
import { nothingStored, type Standing } from './writer.ts';

export interface KnowledgeOptions {
  readonly streams: Streams;
  readonly reader: Reader;
  readonly live: Pick<Live, 'doubts' | 'restore'>;
  readonly retentionMs: number;
  readonly closing: AbortSignal;
}

/** Keeps what is known of a log true: by asking the stream where frames may have been missed. */
export interface Knowledge {
  /** Where the log under a subject stands, as the stream's leader has it. @throws NatsError, Unavailable */
  readonly look: (subject: string) => Promise<Standing>;
  /** Whether nothing can have been missed of the log. */
  readonly isFresh: (tail: Tail) => boolean;
  /** What is known of the log does not fit what was read of it: it counts as fresh no more. */
  readonly doubt: (tail: Tail) => void;
  /** Asks, unless what is known is fresh. @throws Unavailable when NATS does not answer. */
  readonly refresh: (tail: Tail) => Promise<void>;
  /** Goes on trying to do `work` while NATS is away. @throws the signal's reason when it fires first. */
  readonly persist: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}

const retryMs = 100;
const unknownAsOf = -1;

export function createKnowledge({ streams, reader, live, retentionMs, closing }: KnowledgeOptions): Knowledge {
  const { client } = streams;

  const look = async (subject: string): Promise<Standing> => {
    const frame = await reader.last(subject);
    return frame ? standingAt(frame, retentionMs) : nothingStored;
  };

  const isFresh = (tail: Tail): boolean => tail.asOf === live.doubts();

  /** Reads where the log stands, unless frames that come in meanwhile say it better. */
  const sync = async (tail: Tail): Promise<void> => {
    const asOf = live.doubts();
    const { seq } = tail;
    const found = await look(tail.subject);
    if (tail.seq === seq || found.seq > tail.seq) adopt(tail, found);
    tail.asOf = asOf;
  };

  const restoreIfAway = async (error: unknown): Promise<void> => {
    if (isStreamAway(error)) await live.restore().catch(() => undefined);
  };

  return {
    look,
    isFresh,

    doubt: (tail) => {
      tail.asOf = unknownAsOf;
    },

    refresh: async (tail) => {
      if (isFresh(tail)) return;
      tail.syncing ??= sync(tail).finally(() => {
        tail.syncing = undefined;
      });
      try {
        await tail.syncing;
      } catch (error) {
        await restoreIfAway(error);
        throw fromNatsError(error);
      }
    },

    persist: async (work, signal) => {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await unless(signal, work());
        } catch (error) {
          signal.throwIfAborted();
          closing.throwIfAborted();
          if (!mayPass(error)) throw error;
          await restoreIfAway(error);
          await client.connected(signal);
          await pause(retryMs, signal);
        }
      }
    },
  };
}

/** Where a log stands behind its last frame. One that ended too long ago is as if it had never been. */
function standingAt(frame: StoredFrame, retentionMs: number): Standing {
  const ended = frame.ended && frame.part === frame.parts;
  if (ended && Date.now() - frame.at > retentionMs)
    return { seq: frame.seq, last: 0, ended: false, origin: frame.seq, frame };
  return { seq: frame.seq, last: lastWhole(frame), ended, origin: frame.origin, frame };
}

function adopt(tail: Tail, { seq, last, ended, origin }: Standing): void {
  if (tail.seq !== seq || !ended) tail.end = undefined;
  tail.seq = seq;
  tail.last = last;
  tail.ended = ended;
  tail.origin = origin;
}

/** Whether NATS may answer when it is asked again. */
const mayPass = (error: unknown): boolean => isServiceError(error, 'Unavailable') || error instanceof NatsError;

/** What `work` gives. @throws the signal's reason when it fires first; the work then goes on for nobody. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
