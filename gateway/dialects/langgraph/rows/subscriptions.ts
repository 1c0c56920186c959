import { newId } from '@agent-workflow/kit/ids';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Talk } from '../../../http/talk.ts';
import { wantsFrame, type Subscription } from '../protocol/channels.ts';
import type { ProtocolFrame } from '../protocol/protocol-frame.ts';
import { CommandRefusal } from './command-reply.ts';

/** What one event of a run is to a subscription. */
interface PublishedEvent {
  readonly frames: readonly ProtocolFrame[];
  /** A number in the thread that none of its frames passes, and that those of later events do. */
  readonly seq: number;
  /** Whether the run has just ended with it: then the last frame is its end. */
  readonly isEnd: boolean;
}

/** Calls `send` with each event of the thread, also those of which there is nothing to send, until the signal fires. */
export type Publish = (signal: AbortSignal, send: (event: PublishedEvent) => Promise<void>) => Promise<void>;

/** The subscriptions of one connection. */
export interface Subscriptions {
  /** @returns the id of the new one. */
  readonly add: (subscription: Subscription, publish: Publish) => string;
  /** @returns whether there was one. */
  readonly remove: (id: string) => boolean;
  /** Resolves when the work has ended, and all subscriptions with it. @throws what ends a subscription, or the work */
  readonly beside: (work: Promise<void>) => Promise<void>;
}

/** Subscriptions of one connection at most. */
const mostSubscriptions = 8;

/** So many events may be sent ahead of a subscription; what is sent then may be sent again. */
const mostAhead = 10_000;

interface Subscribed {
  readonly subscription: Subscription;
  readonly controller: AbortController;
  /** Events that were sent for others and that this one has not come to. */
  readonly ahead: Set<string>;
  /** The number of the last event that it has come to. */
  at: number;
  /** The number of the last event of which it has nothing more to send, but the end of the run. */
  done: number;
  readonly signal: AbortSignal;
}

/**
 * Several subscriptions may get one event: it is sent for the first that comes to it, and for no other that was there then, because a client gives
 * each event to all of its subscriptions. A later one gets what was sent before it. The end of a run is sent when all that are there have sent what
 * is before it: a client leaves all of them at that event.
 */
export function createSubscriptions(talk: Talk): Subscriptions {
  const open = new Map<string, Subscribed>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);

  let moved: PromiseWithResolvers<undefined> | undefined;
  const wake = (): void => {
    moved?.resolve(undefined);
    moved = undefined;
  };
  talk.signal.addEventListener('abort', wake);
  const come = (own: Subscribed, seq: number): void => {
    own.done = seq;
    wake();
  };
  const othersToo = async (own: Subscribed, seq: number): Promise<void> => {
    come(own, seq);
    while (!own.signal.aborted && [...open.values()].some(({ done }) => done < seq))
      await (moved ??= Promise.withResolvers()).promise;
  };

  const send = async (own: Subscribed, frame: ProtocolFrame): Promise<void> => {
    own.at = frame.seq;
    if (own.ahead.delete(frame.id)) return;
    for (const other of open.values()) {
      if (other === own || other.at > frame.seq || !wantsFrame(other.subscription, frame)) continue;
      if (other.ahead.size >= mostAhead) other.ahead.clear();
      other.ahead.add(frame.id);
    }
    await talk.send(frame.json);
  };
  const sendEvent = async (own: Subscribed, { frames, seq, isEnd }: PublishedEvent): Promise<void> => {
    for (const frame of frames) {
      if (isEnd && frame.channel === 'lifecycle') await othersToo(own, seq);
      await send(own, frame);
    }
    come(own, seq);
  };

  return {
    add: (subscription, publish) => {
      if (open.size >= mostSubscriptions)
        throw new CommandRefusal(
          'invalid_argument',
          `a connection has ${String(mostSubscriptions)} subscriptions at most`,
        );
      const id = newId();
      const controller = new AbortController();
      const signal = AbortSignal.any([talk.signal, controller.signal]);
      const own = { subscription, controller, ahead: new Set<string>(), at: 0, done: 0, signal };
      open.set(id, own);
      const ended = (): void => {
        // Its time is over: no stream lasts for ever.
        if (!signal.aborted) talk.close(1012, 'subscribe again');
      };
      publish(signal, (event) => sendEvent(own, event)).then(ended, (error: unknown) => {
        if (!signal.aborted && !isServiceError(error, 'Cancelled')) failure.reject(error);
      });
      return id;
    },
    remove: (id) => {
      open.get(id)?.controller.abort();
      const wasOpen = open.delete(id);
      wake();
      return wasOpen;
    },
    beside: async (work) => {
      try {
        await Promise.race([work, failure.promise]);
      } finally {
        for (const { controller } of open.values()) controller.abort();
        wake();
      }
    },
  };
}
