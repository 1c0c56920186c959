import { tooMuch, type PoolLimiting } from './pool-limits.ts';

/** A request that is arriving, or the requests of a stream one after the other. */
export interface ArrivingRequest {
  /** Counts further bytes. @throws RateLimited when the requests of its pool have too many together; one that is alone may have any. */
  readonly add: (bytes: number) => void;
  /** A request is there: from here on its bytes count as those of a call under way. */
  readonly onWhole: () => void;
  /** No more is to come. */
  readonly onEnd: () => void;
}

/** Counts what is arriving, each pool for itself. */
interface ArrivalCounts {
  /** Begins a request, or a stream of them. @throws RateLimited when the pool has too many on their way. */
  readonly enter: (pool: string, isStream: boolean) => ArrivingRequest;
}

interface Use {
  requests: number;
  bytes: number;
}

/** What arrives has the same bounds as what is under way. A stream is no request: it may be without one for any time. */
export function createArrivalCounts({ bounds, onLimited }: PoolLimiting): ArrivalCounts {
  /** The names come from the operator's file, which bounds their number. */
  const uses = new Map<string, Use>();

  const refuse = (pool: string, bound: 'calls' | 'bytes'): never => {
    onLimited({ pool, bound, most: bounds[bound] });
    throw tooMuch({ pool, bound, most: bounds[bound], tokens: 0 });
  };

  return {
    enter: (pool, isStream) => {
      const use = uses.get(pool) ?? { requests: 0, bytes: 0 };
      uses.set(pool, use);
      if (!isStream && use.requests >= bounds.calls) refuse(pool, 'calls');
      let [own, isOver] = [0, false];
      use.requests += isStream ? 0 : 1;
      const onWhole = (): void => {
        use.bytes -= own;
        own = 0;
      };
      return {
        add: (bytes) => {
          if (isOver) return;
          if (use.bytes > own && use.bytes + bytes > bounds.bytes) refuse(pool, 'bytes');
          use.bytes += bytes;
          own += bytes;
        },
        onWhole,
        onEnd: () => {
          if (isOver) return;
          isOver = true;
          onWhole();
          use.requests -= isStream ? 0 : 1;
        },
      };
    },
  };
}
