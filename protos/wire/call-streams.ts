import type { Client, Metadata } from '@grpc/grpc-js';
import type { Tried } from './spread.ts';
import { openCallStream, type OutgoingCall, type CallStream, type SentCall } from './call-stream.ts';

/** Streams that carry the calls of a client, one to each server. Disposal ends each once its calls are answered. */
export interface CallStreams extends Disposable {
  /**
   * Sends a call on the stream to the server whose turn it is.
   * @returns `undefined` when it is to be made as a call of its own: no stream is there, none leads where the call may go, or
   * the one whose turn it is takes no more.
   */
  readonly send: (call: OutgoingCall, tried: Tried) => SentCall | undefined;
}

/** A larger request is a call of its own: the others need not wait for it. */
const maxRequestBytes = 64 * 1024;
/** How often it is looked for servers without a stream, in milliseconds. */
const openEveryMs = 1000;
/** How long a stream takes calls, in milliseconds: shorter than a connection lives, so that calls move to new connections. */
const renewMs = 5 * 60_000;

export function createCallStreams(client: Client, metadata: Metadata, silent: ReadonlySet<string>): CallStreams {
  const places = new Map<string, CallStream>();
  const timers = new Set<NodeJS.Timeout>();
  let turns: readonly (readonly [address: string, place: CallStream])[] = [];
  let turn = 0;
  let openingAt = -Infinity;
  let cancelOpening: (() => void) | undefined;
  let isClosed = false;

  const put = (address: string, place: CallStream | undefined): void => {
    if (place) places.set(address, place);
    else places.delete(address);
    turns = [...places];
  };
  const later = (ms: number, work: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms).unref();
    timers.add(timer);
  };
  const openNext = (): void => {
    if (isClosed || cancelOpening) return;
    openingAt = performance.now();
    const tried: Tried = { addresses: new Set(places.keys()), mustDiffer: true, silent };
    cancelOpening = openCallStream({
      ...{ client, metadata, tried },
      onOpen: (stream) => {
        cancelOpening = undefined;
        if (isClosed) {
          stream.retire();
          return;
        }
        put(stream.address, stream);
        // Not all at once, where many processes were started together.
        later(renewMs * (1 + Math.random() / 5), stream.retire);
        openNext();
      },
      onEnd: ({ address, stream }) => {
        if (!stream) cancelOpening = undefined;
        else if (places.get(address) === stream) put(address, undefined);
      },
    });
  };

  /** All places, from the preferred one on, else from the next one. */
  const placesFrom = (preferred: string | undefined): typeof turns => {
    const known = preferred === undefined ? -1 : turns.findIndex(([address]) => address === preferred);
    // What goes where it is preferred takes no turn: otherwise pairs of calls would always begin at the same place.
    if (known === -1) turn = turns.length === 0 ? 0 : (turn + 1) % turns.length;
    const first = known === -1 ? turn : known;
    return first === 0 ? turns : [...turns.slice(first), ...turns.slice(0, first)];
  };

  return {
    send: (call, tried) => {
      if (isClosed) return undefined;
      if (!cancelOpening && performance.now() - openingAt >= openEveryMs) openNext();
      if (call.message.byteLength > maxRequestBytes) return undefined;
      for (const [address, place] of placesFrom(tried.preferred)) {
        if (tried.addresses.has(address) || silent.has(address)) continue;
        if (!place.isFree()) return undefined;
        tried.addresses.add(address);
        tried.onPick?.(address);
        return place.send(call);
      }
      return undefined;
    },
    [Symbol.dispose]: () => {
      isClosed = true;
      cancelOpening?.();
      for (const timer of timers) clearTimeout(timer);
      for (const [, place] of turns) place.retire();
    },
  };
}
