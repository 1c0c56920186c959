import type { Log } from '@agent-workflow/kit/log';
import { pause } from '@agent-workflow/kit/retry';
import type { Msg } from 'nats';
import { isStreamAway, readStream, type Streams } from '../client/streams.ts';
import type { StoredFrame } from './frame.ts';
import { sequenceOf, toStored } from './reader.ts';
import type { NoteUnreadable } from './unreadable.ts';

export interface LiveOptions {
  readonly streams: Streams;
  readonly log: Log;
  /** Whether frames of this run are wanted. */
  readonly wants: (runId: string) => boolean;
  /** Called for each message of a wanted run that is no frame. */
  readonly noteUnreadable: NoteUnreadable;
  /** Called with each wanted frame once it is stored, in the order of the stream. */
  readonly onFrame: (runId: string, frame: StoredFrame) => void;
  /** Called when frames may have been missed. `isNew`: the stream was lost and created again, with sequences from 1. */
  readonly onGap: (isNew: boolean) => void;
  /** Whether any frame is wanted: if not, the stream is not checked. */
  readonly isNeeded: () => boolean;
}

/**
 * The one subscription by which a replica follows all runs. The sequences of a stream have no gaps, so that a missed frame is
 * noticed by the next one, of any run. A missed last frame is noticed by reading the stream's state at an interval.
 */
export interface Live extends AsyncDisposable {
  /** How often frames may have been missed. */
  readonly gaps: () => number;
  /** Whether frames arrive here as they are stored. */
  readonly isLive: boolean;
  /** Creates a missing stream again. */
  readonly recreateStream: () => Promise<void>;
}

const checkMs = 2000;
const flushTimeoutMs = 5000;

/** Subscribes, and creates the stream where it is missing. */
export async function openLive(options: LiveOptions): Promise<Live> {
  const { streams, wants, noteUnreadable, onFrame, isNeeded, log } = options;
  const { client, names, manager } = streams;
  const closing = new AbortController();
  const sequences = createSequences(options);

  const receive = (message: Msg): void => {
    sequences.receive(sequenceOf(message));
    const { subject } = message;
    const runId = subject.slice(subject.lastIndexOf('.') + 1);
    if (!wants(runId)) return;
    const frame = toStored(message, `${names.eventSubject}${subject.slice(names.liveSubject.length)}`);
    if (frame) onFrame(runId, frame);
    else noteUnreadable(subject);
  };

  const recreateStream = async (): Promise<void> => sequences.compare(await streams.ensureEvents());

  const check = async (): Promise<void> => {
    const info = await readStream(manager, names.events);
    if (info) sequences.compare(info);
    else await recreateStream();
  };

  const watch = async (): Promise<void> => {
    for (;;) {
      await pause(checkMs, closing.signal);
      if (!isNeeded() || !client.isConnected()) continue;
      await check().catch((error: unknown) => {
        if (!isStreamAway(error)) log.debug({ err: error }, 'the event stream could not be checked');
      });
    }
  };

  const subscription = client.connection.subscribe(`${names.liveSubject}.>`, {
    callback: (error, message) => {
      try {
        if (error) throw error;
        receive(message);
      } catch (cause) {
        // Thrown from here, it would end the connection.
        log.error({ err: cause }, 'a live event could not be read');
        sequences.addGap(false);
      }
    },
  });
  await client.flush(flushTimeoutMs);
  await recreateStream();
  const reconnects = client.onReconnect(() => sequences.addGap(false));
  const watching = watch().catch(() => undefined);

  return {
    gaps: sequences.gaps,
    isLive: true,
    recreateStream,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      reconnects[Symbol.dispose]();
      if (!subscription.isClosed()) subscription.unsubscribe();
      await watching;
    },
  };
}

/** For a replica that may not subscribe to the frames: it reads the stream each time, which other replicas create again. */
export const withoutLive: Live = {
  // Equal to nothing, itself included: frames may have been missed at any time.
  gaps: () => NaN,
  isLive: false,
  recreateStream: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** The state of the stream, as far as it shows what was missed. */
interface StreamState {
  readonly created: string;
  readonly state: { readonly last_seq: number };
}

/** Compares the sequences that arrive with each other, and with the stream's own. */
interface Sequences {
  readonly gaps: () => number;
  readonly addGap: (isNew: boolean) => void;
  readonly receive: (sequence: number) => void;
  readonly compare: (stream: StreamState) => void;
}

function createSequences({ onGap, log }: Pick<LiveOptions, 'onGap' | 'log'>): Sequences {
  let gaps = 0;
  /** The last sequence that arrived; -1 before the first comparison. */
  let seen = -1;
  let created = '';
  /** The stream's last sequence at the comparison before: it must have arrived by the next one. */
  let due = 0;

  const addGap = (isNew: boolean): void => {
    gaps++;
    onGap(isNew);
  };

  return {
    gaps: () => gaps,
    addGap,

    receive: (sequence) => {
      if (sequence !== seen + 1 && seen >= 0) addGap(sequence <= seen);
      seen = sequence;
    },

    compare: (stream) => {
      const isNew = created !== '' && created !== stream.created;
      created = stream.created;
      if (isNew) {
        log.warn('the event stream was lost and has been created again');
        seen = 0;
        due = 0;
        addGap(true);
      }
      // Frames from before this replica started were not missed.
      if (seen < 0) seen = stream.state.last_seq;
      if (seen < due) {
        seen = Math.max(seen, due);
        addGap(false);
      }
      due = stream.state.last_seq;
    },
  };
}
