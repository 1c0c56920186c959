import type { Log } from '@agent-workflow/kit/log';
import { pause } from '@agent-workflow/kit/retry';
import type { Msg } from 'nats';
import { isStreamAway, readStream, sequenceOf, type Streams } from '../client/streams.ts';
import type { StoredFrame } from './frame.ts';
import { toStored } from './reader.ts';
import type { NoteUnreadable } from './unreadable.ts';

export interface LiveOptions {
  readonly streams: Streams;
  readonly log: Log;
  /** Called for each message that is no frame. */
  readonly noteUnreadable: NoteUnreadable;
  /** Called with each frame of a subscription once it is stored, in the order of the stream. */
  readonly onFrame: (runId: string, frame: StoredFrame) => void;
  /** Called when frames of any log may have been missed. `isNew`: the stream was lost and created again, with sequences from 1. */
  readonly onGap: (isNew: boolean) => void;
  /** Called every second, with the result of `lastSeq`. */
  readonly onTick: (lastSeq: number) => void;
  /** Whether any log is in use: if not, the stream is not read. */
  readonly isNeeded: () => boolean;
}

/**
 * Subscriptions to the frames of single logs, and a watch over the stream: whether it was created again or has another leader since,
 * which may not have published what was stored meanwhile.
 */
export interface Live extends AsyncDisposable {
  /** How often frames of any log may have been missed. */
  readonly gaps: () => number;
  /** Whether frames can arrive here as they are stored. */
  readonly isLive: boolean;
  /** Has the frames of a subject of the stream arrive until the result is disposed of. `*` may stand for the word before the run. */
  readonly subscribe: (subject: string) => Disposable;
  /** The last sequence of the stream as it was last read; -1 before. */
  readonly lastSeq: () => number;
  /** Creates a missing stream again. */
  readonly recreateStream: () => Promise<void>;
}

const tickMs = 1000;
/** The stream is read in every so many ticks. */
const ticksPerRead = 2;

/** Creates the stream where it is missing. */
export async function openLive(options: LiveOptions): Promise<Live> {
  const { streams, noteUnreadable, onFrame, onTick, isNeeded, log } = options;
  const { client, names, manager } = streams;
  const closing = new AbortController();
  const stream = watchStream(options);

  const receive = (message: Msg): void => {
    const { subject } = message;
    const runId = subject.slice(subject.lastIndexOf('.') + 1);
    const frame = toStored(message, `${names.eventSubject}${subject.slice(names.liveSubject.length)}`);
    if (frame) onFrame(runId, frame);
    else noteUnreadable(subject);
  };

  const recreateStream = async (): Promise<void> => stream.compare(await streams.ensureEvents());

  const check = async (): Promise<void> => {
    const info = await readStream(manager, names.events);
    if (info) stream.compare(info);
    else await recreateStream();
  };

  const watch = async (): Promise<void> => {
    for (let tick = 1; ; tick++) {
      await pause(tickMs, closing.signal);
      if (!isNeeded() || !client.isConnected()) continue;
      if (tick % ticksPerRead === 0)
        await check().catch((error: unknown) => {
          if (!isStreamAway(error)) log.debug({ err: error }, 'the event stream could not be checked');
        });
      try {
        onTick(stream.lastSeq());
      } catch (error) {
        // Thrown from here, it would end the watch.
        log.error({ err: error }, 'the logs in use could not be checked');
      }
    }
  };

  await recreateStream();
  const reconnects = client.onReconnect(() => stream.addGap(false));
  const watching = watch().catch(() => undefined);

  return {
    gaps: stream.gaps,
    isLive: true,

    subscribe: (subject) => {
      let received = 0;
      let losses = stream.losses();
      const subscription = client.connection.subscribe(
        `${names.liveSubject}${subject.slice(names.eventSubject.length)}`,
        {
          callback: (error, message) => {
            try {
              if (error) throw error;
              const sequence = sequenceOf(message);
              // The server sends what it stores in its order: a lower sequence is one of a stream that was created again. Of all subscriptions
              // only the first one to see it says so: each time all logs in use are compared.
              if (losses === stream.losses() && sequence <= received) stream.addGap(true);
              losses = stream.losses();
              received = sequence;
              receive(message);
            } catch (cause) {
              // Thrown from here, it would end the connection.
              log.error({ err: cause }, 'a live event could not be read');
              stream.addGap(false);
            }
          },
        },
      );
      return {
        [Symbol.dispose]: () => {
          if (!subscription.isClosed()) subscription.unsubscribe();
        },
      };
    },

    lastSeq: stream.lastSeq,
    recreateStream,

    [Symbol.asyncDispose]: async () => {
      closing.abort();
      reconnects[Symbol.dispose]();
      await watching;
    },
  };
}

/** For a replica that may not subscribe to frames: it reads the stream each time, which other replicas create again. */
export const withoutLive: Live = {
  // Equal to nothing, itself included: frames may have been missed at any time.
  gaps: () => NaN,
  isLive: false,
  subscribe: () => ({ [Symbol.dispose]: () => undefined }),
  lastSeq: () => -1,
  recreateStream: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** What the stream's state shows of frames that may have been missed. */
interface StreamState {
  readonly created: string;
  readonly state: { readonly last_seq: number };
  /** Absent where there is a single server. */
  readonly cluster?: { readonly leader?: string };
}

interface WatchedStream {
  readonly gaps: () => number;
  readonly addGap: (isNew: boolean) => void;
  /** How often the stream was found to have been created again. */
  readonly losses: () => number;
  readonly lastSeq: () => number;
  readonly compare: (stream: StreamState) => void;
}

function watchStream({ onGap, log }: Pick<LiveOptions, 'onGap' | 'log'>): WatchedStream {
  let gaps = 0;
  let losses = 0;
  let created = '';
  let leader: string | undefined;
  let lastSeq = -1;

  const addGap = (isNew: boolean): void => {
    gaps++;
    if (isNew) losses++;
    onGap(isNew);
  };

  return {
    gaps: () => gaps,
    addGap,
    losses: () => losses,
    lastSeq: () => lastSeq,

    compare: (stream) => {
      const isNew = created !== '' && created !== stream.created;
      const hasMoved = created !== '' && leader !== stream.cluster?.leader;
      created = stream.created;
      leader = stream.cluster?.leader;
      lastSeq = stream.state.last_seq;
      if (isNew) log.warn('the event stream was lost and has been created again');
      if (isNew || hasMoved) addGap(isNew);
    },
  };
}
