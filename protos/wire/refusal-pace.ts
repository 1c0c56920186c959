import type { PoolLimiting } from './pool-limits.ts';

interface Refused {
  readonly pool: string;
  /** Sends the refusal. */
  readonly send: () => void;
  /** Closes the connection on which the call came, in place of that. */
  readonly drop: () => void;
}

/** Sends the refusals of small calls one after the other, with time between them. */
type RefusalPace = (refused: Refused) => void;

/** How long a refusal waits at least, and how long a stream is not read after one, in milliseconds. Callers that keep to `retryAfterMs` wait longer before they call again. */
const leastMs = 100;
/** The time between two refusals of one pool, in milliseconds. */
const betweenMs = 2;
/** The most refusals of one pool that wait. */
const mostWaiting = 1000;

interface Use {
  waiting: number;
  /** When the last of them is sent, in milliseconds. */
  lastAt: number;
}

/**
 * A refused call still costs the work of HTTP/2 and gRPC, which no other bound counts. So the refusals of a pool are sent at intervals, and while
 * too many of them wait, a connection on which another call is refused is closed. Workers of ours make their small calls on streams, and come
 * nowhere near that.
 */
export function createRefusalPace(onLimited: PoolLimiting['onLimited']): RefusalPace {
  /** The names come from the operator's file, which bounds their number. */
  const uses = new Map<string, Use>();
  return ({ pool, send, drop }) => {
    const use = uses.get(pool) ?? { waiting: 0, lastAt: 0 };
    uses.set(pool, use);
    if (use.waiting >= mostWaiting) {
      onLimited({ pool, bound: 'refusals', most: mostWaiting });
      drop();
      return;
    }
    const now = performance.now();
    use.waiting += 1;
    use.lastAt = Math.max(now + leastMs, use.lastAt + betweenMs);
    setTimeout(() => {
      use.waiting -= 1;
      send();
    }, use.lastAt - now).unref();
  };
}

/** For how long a stream is not read after so many of the calls in one message were refused, in milliseconds. */
type StreamRests = (pool: string, refused: number) => number;

/** What each refusal adds to the rest, in milliseconds: the refusals of a pool then take a small part of the processor, on however many streams it calls. */
const eachMs = 0.2;
/** The longest rest of a stream, whatever the other streams of its pool do, in milliseconds. */
const longestRestMs = 10_000;

/** `elapsed` is a clock in milliseconds that never goes back. */
export function createStreamRests(elapsed: () => number = () => performance.now()): StreamRests {
  /** By pool, the time at which all its streams are read again. The names come from the operator's file, which bounds their number. */
  const ends = new Map<string, number>();
  return (pool, refused) => {
    const now = elapsed();
    const end = Math.min(now + longestRestMs, Math.max(now + leastMs, (ends.get(pool) ?? 0) + refused * eachMs));
    ends.set(pool, end);
    return end - now;
  };
}
