import type { Log } from '@agent-workflow/kit/log';
import { pause } from '@agent-workflow/kit/retry';
import type { Msg, Subscription } from 'nats';
import { isStreamAway, readStream, type Streams } from '../client/streams.ts';
import type { StoredFrame } from './frame.ts';
import { liveSubjectOf, toStored } from './reader.ts';

interface LiveOptions {
  readonly streams: Streams;
  readonly log: Log;
  /** Called with each frame of a subscribed run once it is stored, in the order of the stream. */
  readonly onFrame: (runId: string, frame: StoredFrame) => void;
  /** Called when frames may have been missed. `isNew`: the stream was lost and created again, with sequences from 1. */
  readonly onGap: (isNew: boolean) => void;
  /** Whether any log is written or followed: if not, the stream is not checked. */
  readonly isNeeded: () => boolean;
}

/**
 * The subscriptions by which a replica follows runs that it does not write itself, one for each run. A frame that is missed shows
 * by the number of the run's next one, which followers then read from the stream; a missed last one by silence (`quiet.ts`).
 */
export interface Live extends AsyncDisposable {
  /** Receives the frames of a run. What is read of its log after this call misses none. */
  readonly subscribe: (runId: string) => void;
  readonly unsubscribe: (runId: string) => void;
  /** How often frames of any run may have been missed. */
  readonly gaps: () => number;
  /** Creates a missing stream again, and notices one that was created again. */
  readonly recreateStream: () => Promise<void>;
  /** Looks at once whether the stream was created again. */
  readonly checkStream: () => void;
}

const checkMs = 2000;
/** A check that is late by so much shows that the process stood still: others may have taken its runs over meanwhile. */
const stoodStillMs = 2000;

/** Creates the stream where it is missing. */
export async function openLive({ streams, log, onFrame, onGap, isNeeded }: LiveOptions): Promise<Live> {
  const { client, names, manager } = streams;
  const closing = new AbortController();
  const subscriptions = new Map<string, Subscription>();
  let gaps = 0;
  let created: string | undefined;
  let checking: Promise<void> | undefined;

  const addGap = (isNew: boolean): void => {
    gaps++;
    onGap(isNew);
  };

  const compare = (stream: { readonly created: string }): void => {
    const isNew = created !== undefined && created !== stream.created;
    created = stream.created;
    if (!isNew) return;
    log.warn('the event stream was lost and has been created again');
    addGap(true);
  };

  const recreateStream = async (): Promise<void> => compare(await streams.ensureEvents());

  const check = async (): Promise<void> => {
    const info = await readStream(manager, names.events);
    if (info) compare(info);
    else await recreateStream();
  };

  const checkStream = async (): Promise<void> => {
    checking ??= check()
      .catch((error: unknown) => {
        if (!isStreamAway(error)) log.debug({ err: error }, 'the event stream could not be checked');
      })
      .finally(() => {
        checking = undefined;
      });
    return checking;
  };

  const watch = async (): Promise<void> => {
    for (;;) {
      const begun = performance.now();
      await pause(checkMs, closing.signal);
      if (performance.now() - begun > checkMs + stoodStillMs) addGap(false);
      if (isNeeded() && client.isConnected()) await checkStream();
    }
  };

  const receive = (runId: string, error: Error | null, message: Msg): void => {
    try {
      if (error) throw error;
      onFrame(runId, toStored(message));
    } catch (cause) {
      // Thrown from here, it would end the connection.
      log.error({ err: cause }, 'a live event could not be read');
      addGap(false);
    }
  };

  await recreateStream();
  const reconnects = client.onReconnect(() => {
    addGap(false);
    if (isNeeded()) void checkStream();
  });
  const watching = watch().catch(() => undefined);

  return {
    subscribe: (runId) => {
      if (subscriptions.has(runId) || client.connection.isDraining() || client.connection.isClosed()) return;
      const callback = (error: Error | null, message: Msg): void => receive(runId, error, message);
      subscriptions.set(runId, client.connection.subscribe(liveSubjectOf(names, runId), { callback }));
    },

    unsubscribe: (runId) => {
      const subscription = subscriptions.get(runId);
      if (!subscription) return;
      subscriptions.delete(runId);
      if (!subscription.isClosed()) subscription.unsubscribe();
    },

    gaps: () => gaps,
    recreateStream,
    checkStream: () => void checkStream(),

    [Symbol.asyncDispose]: async () => {
      closing.abort();
      reconnects[Symbol.dispose]();
      for (const subscription of subscriptions.values()) if (!subscription.isClosed()) subscription.unsubscribe();
      subscriptions.clear();
      await watching;
    },
  };
}
