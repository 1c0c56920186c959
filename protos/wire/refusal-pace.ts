import type { PoolLimiting } from './pool-limits.ts';

interface Refused {
  readonly pool: string;
  /** Sends the refusal. */
  readonly send: () => void;
  /** Closes the connection on which the call came, in place of that. */
  readonly drop: () => void;
}

/** Spreads the refusals of small calls over time. */
type RefusalPace = (refused: Refused) => void;

/** How long a refusal waits at least, and a stream after one, in milliseconds: a caller is to wait longer before it calls again. */
const leastMs = 100;
/** The time between two refusals of one pool, in milliseconds. */
const betweenMs = 2;
/** Refusals of one pool that wait. */
const mostWaiting = 1000;

interface Use {
  waiting: number;
  /** When the last of them is sent, in milliseconds. */
  lastAt: number;
}

/**
 * A call that is refused costs the work of HTTP/2 and gRPC, which no other bound counts. So refusals wait for each
 * other, and with too many that wait the connection is closed on which the next comes: workers of ours make their small calls on streams,
 * and come nowhere near.
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

/** So that the refusals of a pool take a small part of the processor, on however many streams it calls. */
const ofEachMs = 0.2;
/** No stream waits longer, whatever others of its pool do. */
const longestRestMs = 10_000;

/** `elapsed` is a clock in milliseconds that never goes back. */
export function createStreamRests(elapsed: () => number = () => performance.now()): StreamRests {
  /** When the pool's streams are all read again. The names come from the operator's file, which bounds their number. */
  const ends = new Map<string, number>();
  return (pool, refused) => {
    const now = elapsed();
    const end = Math.min(now + longestRestMs, Math.max(now + leastMs, (ends.get(pool) ?? 0) + refused * ofEachMs));
    ends.set(pool, end);
    return end - now;
  };
}
