import { isServiceError } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import { NatsError } from 'nats';
import { fromNatsError, steadily } from '../client/client.ts';
import { isStreamAway, type Streams } from '../client/streams.ts';
import type { Live } from './live.ts';
import type { LogPlaces } from './places.ts';
import { emptyAt, positionAt, type LogPosition } from './position.ts';
import type { LogEnd, Reader } from './reader.ts';
import { knowForAWhile, neverSynced, wake, type Tail } from './tail.ts';
import type { Listening } from './listening.ts';

interface LogSyncOptions {
  readonly streams: Streams;
  readonly reader: Reader;
  readonly live: Pick<Live, 'gaps' | 'isLive' | 'lastSeq' | 'recreateStream'>;
  readonly listening: Pick<Listening, 'cover' | 'covers' | 'isInPlace'>;
  readonly places: LogPlaces;
  /** Called with each tail whose log's end was read. */
  readonly onRead: (tail: Tail) => void;
  readonly retentionMs: number;
  readonly closing: AbortSignal;
}

/** Keeps tails in step with the stream, by reading the stream where frames may have been missed. */
export interface LogSync {
  /** The position of the log's end, as the stream's leader has it. @throws NatsError, Unavailable */
  readonly readPosition: (tail: Tail) => Promise<LogPosition>;
  /** Whether frames arrive here as they are stored. */
  readonly isLive: boolean;
  /** Whether the tail can have missed nothing. */
  readonly isFresh: (tail: Tail) => boolean;
  /** The tail is known to have missed nothing before this count of gaps: its log is as empty as the tail. */
  readonly trust: (tail: Tail, gaps: number) => void;
  /** Marks a tail as not fresh, because it does not fit what was read of its log. */
  readonly invalidate: (tail: Tail) => void;
  /** Reads the position of the log's end, unless the tail is fresh. @throws Unavailable when NATS does not answer. */
  readonly refresh: (tail: Tail) => Promise<void>;
  /** Repeats `work` while NATS is unavailable. @throws the signal's reason when it fires first. */
  readonly repeat: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}

const retryMs = 100;
const nothingAt: LogEnd = { frame: undefined, lastSeq: 0 };

export function createLogSync({
  streams,
  reader,
  live,
  listening,
  places,
  onRead,
  retentionMs,
  closing,
}: LogSyncOptions): LogSync {
  const { client } = streams;

  /** The end of a log, wherever it is. */
  const readEnd = async (tail: Tail): Promise<LogEnd | undefined> => {
    const search = places.search(tail);
    const found =
      (await reader.last(tail.subject)) ?? (tail.subject === search ? undefined : await reader.last(search));
    const begin = places.begin(tail);
    if (!found || search === begin || (found.frame && places.mayHold(found.frame.subject, tail))) return found;
    // What is there is of another agent, or can only be counted. The log may still be below its own.
    return reader.last(begin);
  };

  const readPosition = async (tail: Tail): Promise<LogPosition> => {
    const { frame, lastSeq } = (await readEnd(tail)) ?? nothingAt;
    return frame ? positionAt(frame, lastSeq, retentionMs) : emptyAt(lastSeq);
  };

  const isFresh = (tail: Tail): boolean => tail.syncedAtGap === live.gaps() && listening.covers(tail);

  /** Reads the position of the log's end, unless newer frames arrive meanwhile. */
  const sync = async (tail: Tail): Promise<void> => {
    if (tail.listeners > 0) listening.cover(tail);
    const gap = live.gaps();
    const lastSeq = live.lastSeq();
    const { streamSeq, subscription } = tail;
    const isCovered = listening.covers(tail);
    const found = await readPosition(tail);
    if (tail.streamSeq === streamSeq || found.streamSeq > tail.streamSeq) adopt(tail, found);
    tail.comparedAt = lastSeq;
    // A subscription that began meanwhile may have begun too late for what was stored after the read.
    const missedNothing = isCovered && tail.subscription === subscription && listening.isInPlace(tail);
    tail.syncedAtGap = missedNothing || tail.ended ? gap : neverSynced;
    onRead(tail);
  };

  const recreateIfAway = async (error: unknown): Promise<void> => {
    if (isStreamAway(error)) await live.recreateStream().catch(() => undefined);
  };

  return {
    readPosition,
    isLive: live.isLive,
    isFresh,

    trust: (tail, gaps) => {
      if (tail.streamSeq > 0 || tail.syncedAtGap !== neverSynced) return;
      tail.syncedAtGap = gaps;
      knowForAWhile(tail);
    },

    invalidate: (tail) => {
      tail.syncedAtGap = neverSynced;
      tail.knownUntil = 0;
    },

    refresh: async (tail) => {
      if (isFresh(tail)) return;
      tail.syncing ??= sync(tail).finally(() => {
        tail.syncing = undefined;
      });
      try {
        await tail.syncing;
      } catch (error) {
        await recreateIfAway(error);
        throw fromNatsError(error);
      }
    },

    repeat: async (work, signal) =>
      retry(async () => unless(signal, work()), {
        ...steadily(retryMs),
        signal,
        mayHelp: mayPass,
        onRetry: async (error) => {
          closing.throwIfAborted();
          await recreateIfAway(error);
          await client.connected(signal);
        },
      }),
  };
}

function adopt(tail: Tail, { streamSeq, last, ended, origin, frame }: LogPosition): void {
  const isNews = tail.streamSeq !== streamSeq || tail.last !== last || tail.ended !== ended;
  if (tail.streamSeq !== streamSeq || !ended) tail.end = undefined;
  tail.subject = frame?.subject ?? tail.subject;
  tail.streamSeq = streamSeq;
  tail.writer = frame?.writer ?? '';
  tail.last = last;
  tail.ended = ended;
  tail.origin = origin;
  if (ended) knowForAWhile(tail);
  // Of those who wait for news of the log only one has read its end.
  if (isNews) wake(tail);
}

/** Whether another attempt may succeed. */
const mayPass = (error: unknown): boolean => isServiceError(error, 'Unavailable') || error instanceof NatsError;

/** The result of `work`. @throws the signal's reason when it fires first; the result of the work is ignored then. */
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
