import type { WorkerLeases } from '../ports/leases.ts';

interface SweepPaceOptions {
  readonly leases: Pick<WorkerLeases, 'living'>;
  /** The longest time from one sweep to the next, in milliseconds. */
  readonly longestMs: number;
  /** In milliseconds. */
  readonly elapsed?: () => number;
}

/** When the next sweep is due. */
export interface SweepPace {
  /** To be asked more often than a lease lasts, so that no worker comes and goes in between. */
  readonly isDue: () => boolean;
  /** A sweep begins. Call the result with the number of open runs that it has found; a sweep that fails is due again. */
  readonly begin: () => (openRuns: number) => void;
}

/** Time per open run until the next sweep, in milliseconds: sweeps read a hundred runs a second. */
const msPerRun = 10;

/**
 * The more runs are open, the rarer the sweeps: a thousand runs that wait for an agent without workers cost the other agents little.
 * Only the death of a worker makes takeovers necessary, so the sweep after it is due at once.
 */
export function createSweepPace({ leases, longestMs, elapsed = () => performance.now() }: SweepPaceOptions): SweepPace {
  let living: ReadonlySet<string> = new Set();
  let hasDied = false;
  let nextAt = -Infinity;

  const noteDeaths = (): void => {
    const now = leases.living();
    hasDied ||= [...living].some((workerId) => !now.has(workerId));
    living = now;
  };

  return {
    isDue: () => {
      noteDeaths();
      return hasDied || elapsed() >= nextAt;
    },
    begin: () => {
      const begun = elapsed();
      noteDeaths();
      hasDied = false;
      nextAt = -Infinity;
      return (openRuns) => {
        nextAt = begun + Math.min(openRuns * msPerRun, longestMs);
      };
    },
  };
}
