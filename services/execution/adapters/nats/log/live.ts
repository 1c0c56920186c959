import type { Log } from '@agent-workflow/kit/log';
import type { Msg } from 'nats';
import { pause } from '../client.ts';
import type { StoredFrame } from './frame.ts';
import { placeOf, toStored } from './reader.ts';
import { isStreamAway, readStream, type Streams } from '../streams.ts';

export interface LiveOptions {
  readonly streams: Streams;
  readonly logger: Log;
  /** Whether frames of this run are wanted. */
  readonly wants: (runId: string) => boolean;
  /** Hears of each wanted frame once it is stored, in the order of the stream. */
  readonly onFrame: (runId: string, frame: StoredFrame) => void;
  /** Frames may have been missed: what is known may be behind. `isNew` when the stream was lost, and its places begin anew. */
  readonly onDoubt: (isNew: boolean) => void;
  /** Whether anybody would miss a frame: if not, nothing is checked. */
  readonly isNeeded: () => boolean;
}

/**
 * The one subscription that a replica follows all runs by. Places in the stream have no gaps, so that a frame that was
 * missed is noticed by the next one, of whichever run, and the last one by asking the stream now and then.
 */
export interface Live extends AsyncDisposable {
  /** Grows with each doubt. */
  readonly doubts: () => number;
  /** The stream was found missing: makes it again. */
  readonly restore: () => Promise<void>;
}

const checkMs = 2000;

/** Listens, and makes the stream where it is missing. */
export async function openLive(options: LiveOptions): Promise<Live> {
  const { streams, wants, onFrame, onDoubt, isNeeded, logger } = options;
  const { client, names, manager } = streams;
  const closing = new AbortController();
  let doubts = 0;
  /** The last place that was told; -1 before any is known. */
  let seen = -1;
  let created = '';
  /** What the stream held at the last check and was not seen by then. */
  let overdue = 0;

  const doubt = (isNew: boolean): void => {
    doubts++;
    onDoubt(isNew);
  };

  const take = (message: Msg): void => {
    const place = placeOf(message);
    if (place !== seen + 1 && seen >= 0) doubt(place <= seen);
    seen = place;
    const runId = message.subject.slice(message.subject.lastIndexOf('.') + 1);
    if (wants(runId)) onFrame(runId, toStored(message));
  };

  const note = (info: { readonly created: string; readonly state: { readonly last_seq: number } }): void => {
    const isNew = created !== '' && created !== info.created;
    created = info.created;
    if (isNew) {
      logger.warn('the event stream was lost and is there anew');
      seen = 0;
      overdue = 0;
      doubt(true);
    }
    // Places that were taken before this replica came are no loss.
    if (seen < 0) seen = info.state.last_seq;
    if (seen < overdue) {
      seen = Math.max(seen, overdue);
      doubt(false);
    }
    overdue = info.state.last_seq;
  };

  const restore = async (): Promise<void> => note(await streams.ensureEvents());

  const check = async (): Promise<void> => {
    const info = await readStream(manager, names.events);
    if (info) note(info);
    else await restore();
  };

  const watch = async (): Promise<void> => {
    for (;;) {
      await pause(checkMs, closing.signal);
      if (!isNeeded() || !client.isConnected()) continue;
      await check().catch((error: unknown) => {
        if (!isStreamAway(error)) logger.debug({ err: error }, 'the event stream could not be checked');
      });
    }
  };

  const subscription = client.connection.subscribe(`${names.toldSubject}.>`, {
    callback: (error, message) => {
      try {
        if (error) throw error;
        take(message);
      } catch (cause) {
        // Thrown from here, it would end the connection.
        logger.error({ err: cause }, 'an event could not be read as it came in');
        doubt(false);
      }
    },
  });
  await client.flush(flushTimeoutMs);
  await restore();
  const reconnects = client.onReconnect(() => doubt(false));
  const watching = watch().catch(() => undefined);

  return {
    doubts: () => doubts,
    restore,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      reconnects[Symbol.dispose]();
      if (!subscription.isClosed()) subscription.unsubscribe();
      await watching;
    },
  };
}

const flushTimeoutMs = 5000;
