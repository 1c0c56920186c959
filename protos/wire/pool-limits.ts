import { ServiceError } from '@agent-workflow/kit/errors';
import { createPoolTurns, type PoolTurns, type TurnClocks } from './pool-turns.ts';

/** How much of one process the workers of a pool may take together. */
interface PoolBounds {
  /** Calls under way. */
  readonly calls: number;
  /** Bytes of their requests. One that is larger is let in alone. While the replies that are not read have as many, no call begins. */
  readonly bytes: number;
  /** Calls a second; after a second without any, as many at once. */
  readonly callsPerSecond: number;
}

/** What a call of a pool is refused for. Connections and streams of calls are bounded in `connections.ts`. */
type PoolBound = keyof PoolBounds | 'connections' | 'streams';

/** Nothing is refused for these two: a connection is closed (`refusal-pace.ts`, and below). */
type Exceeded = PoolBound | 'refusals' | 'replies';

/** The bounds, and what is called with each call that is refused, and each connection that is closed, for them. */
export interface PoolLimiting {
  readonly bounds: PoolBounds;
  readonly onLimited: (limited: { readonly pool: string; readonly bound: Exceeded; readonly most: number }) => void;
}

/** A call that was let in. */
export interface Entered {
  /** Resolves when its work may begin; absent: it may at once. */
  readonly turn: Promise<unknown> | undefined;
  /** To be called once its work has ended, which may be after its caller has left, or is not to begin. */
  readonly onEnd: () => void;
}

/** Counts the calls of pools, each pool for itself. */
export interface PoolLimits {
  /**
   * Lets a call of a pool in whose request has so many bytes.
   * @throws RateLimited, with a time to wait, when the pool has too much under way, or calls too often.
   */
  readonly enter: (pool: string, bytes: number) => Entered;
  /**
   * Counts bytes of replies that are kept until the caller reads them, or its connection ends; then the result is to be called. `drop` closes the
   * connection.
   */
  readonly hold: (pool: string, bytes: number, drop: () => void) => () => void;
}

/** A request of no more bytes counts as a call alone: renewals and claims go on while large commits wait. */
const smallBytes = 4096;
/** When a caller may try again while too much is under way, in milliseconds. */
const retryMs = 500;
const leastRetryMs = 100;
const second = 1000;
/**
 * How long a reply may be kept for its caller while the pool has no room for more, in milliseconds: about as long as a worker waits for one. So a process
 * that reads nothing does not keep the others of its pool from their calls for long.
 */
const longestUnreadMs = 30_000;
/** In a millisecond. */
const microseconds = 1000;

interface Unread {
  readonly since: number;
  readonly drop: () => void;
}

interface Use {
  calls: number;
  bytes: number;
  /** Bytes of replies that are not read. */
  held: number;
  /** Those replies; the oldest comes first. */
  readonly unread: Set<Unread>;
  readonly turns: PoolTurns;
  /** Calls that may begin at once, by `at`: the rate refills them. */
  tokens: number;
  /** In milliseconds of the clock. */
  at: number;
}

const hasThreadUsage = 'threadCpuUsage' in process;

const realClocks: TurnClocks = {
  elapsed: () => performance.now(),
  worked: () => {
    // Node 22 does not have it: there the time of all threads of the process has to do.
    const { user, system } = hasThreadUsage ? process.threadCpuUsage() : process.cpuUsage();
    return (user + system) / microseconds;
  },
};

export function createPoolLimits({ bounds, onLimited }: PoolLimiting, clocks: TurnClocks = realClocks): PoolLimits {
  /** The names come from the operator's file, which bounds their number. */
  const uses = new Map<string, Use>();
  const { callsPerSecond } = bounds;
  const { elapsed } = clocks;

  const newUse = (at: number): Use => {
    const isHeldUp = (): boolean => use.held >= bounds.bytes;
    const turns = createPoolTurns({ ...clocks, isHeldUp });
    const use: Use = { ...{ calls: 0, bytes: 0, held: 0, unread: new Set(), tokens: callsPerSecond, at }, turns };
    return use;
  };

  const useOf = (pool: string): Use => {
    const now = elapsed();
    const use = uses.get(pool) ?? newUse(now);
    uses.set(pool, use);
    use.tokens = Math.min(callsPerSecond, use.tokens + ((now - use.at) * callsPerSecond) / second);
    use.at = now;
    return use;
  };

  const boundOver = (use: Use, bytes: number): keyof PoolBounds | undefined => {
    if (use.calls >= bounds.calls) return 'calls';
    if (bytes > 0 && use.bytes > 0 && use.bytes + bytes > bounds.bytes) return 'bytes';
    return use.tokens < 1 ? 'callsPerSecond' : undefined;
  };

  /** Closes the connection that keeps the calls of its pool waiting for the longest. */
  const dropUnread = (pool: string, { held, unread }: Use): void => {
    const [oldest] = unread;
    if (!oldest || held < bounds.bytes || elapsed() - oldest.since <= longestUnreadMs) return;
    unread.delete(oldest);
    onLimited({ pool, bound: 'replies', most: bounds.bytes });
    oldest.drop();
  };

  return {
    enter: (pool, requestBytes) => {
      const bytes = requestBytes > smallBytes ? requestBytes : 0;
      const use = useOf(pool);
      use.turns.check();
      dropUnread(pool, use);
      const bound = boundOver(use, bytes);
      if (bound) {
        onLimited({ pool, bound, most: bounds[bound] });
        throw tooMuch({ pool, bound, most: bounds[bound], tokens: use.tokens });
      }
      use.calls += 1;
      use.bytes += bytes;
      use.tokens -= 1;
      let isUnderWay = true;
      const onEnd = (): void => {
        if (!isUnderWay) return;
        isUnderWay = false;
        use.calls -= 1;
        use.bytes -= bytes;
        turn.end();
      };
      const turn = use.turns.take(onEnd);
      return { turn: turn.begins, onEnd };
    },

    hold: (pool, bytes, drop) => {
      const use = useOf(pool);
      const reply: Unread = { since: elapsed(), drop };
      let isHeld = true;
      use.held += bytes;
      use.unread.add(reply);
      return () => {
        if (!isHeld) return;
        isHeld = false;
        use.held -= bytes;
        use.unread.delete(reply);
        use.turns.goOn();
      };
    },
  };
}

const words: Readonly<Record<PoolBound, (most: string) => string>> = {
  calls: (most) => `${most} calls under way`,
  bytes: (most) => `${most} bytes of requests under way`,
  callsPerSecond: (most) => `${most} calls a second`,
  connections: (most) => `${most} connections`,
  streams: (most) => `${most} streams of calls`,
};

interface TooMuch {
  readonly pool: string;
  readonly bound: PoolBound;
  readonly most: number;
  readonly tokens: number;
}

/** What a call is refused with that is beyond a bound. */
export function tooMuch({ pool, bound, most, tokens }: TooMuch): ServiceError {
  const retryAfterMs =
    bound === 'callsPerSecond' ? Math.max(leastRetryMs, Math.ceil(((1 - tokens) * second) / most)) : retryMs;
  return new ServiceError('RateLimited', `pool "${pool}" may have ${words[bound](String(most))} at this process`, {
    retryAfterMs,
  });
}
