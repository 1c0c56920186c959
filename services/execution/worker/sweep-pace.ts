import type { WorkerLeases } from '../ports/leases.ts';

interface SweepPaceOptions {
  readonly leases: Pick<WorkerLeases, 'living'>;
  /** How many runs wait in the queue, as far as is known here. */
  readonly waiting: () => number;
  /** The longest time from one sweep to the next, in milliseconds. */
  readonly longestMs: number;
  /** In milliseconds. */
  readonly elapsed?: () => number;
}

/** When the next sweep is due. */
export interface SweepPace {
  /** To be asked more often than a lease lasts, so that no process comes and goes in between. */
  readonly isDue: () => boolean;
  /** A sweep begins. */
  readonly begin: () => BegunSweep;
}

interface BegunSweep {
  /** Whether a process has died since the last whole sweep began. It may have left runs that are not in the queue. */
  readonly isAfterDeath: boolean;
  /** To be called with the number of open runs that it has found; a sweep that fails is due again. */
  readonly end: (openRuns: number) => void;
}

/** Time per open run until the next sweep, in milliseconds: sweeps read a hundred runs a second. */
const msPerRun = 10;

/**
 * The more runs are open, the rarer the sweeps: a thousand runs that wait for an agent without workers cost the other agents little. Those that
 * have left the queue since the last sweep are not counted, so that a backlog that is gone delays no sweep.
 * Only a death makes takeovers necessary, so the sweep after it is due at once.
 */
export function createSweepPace(options: SweepPaceOptions): SweepPace {
  const { leases, waiting, longestMs, elapsed = () => performance.now() } = options;
  let living: ReadonlySet<string> = new Set();
  let deaths = 0;
  /** Of those, how many a whole sweep has begun after. */
  let sweptDeaths = 0;
  let last: { readonly begun: number; readonly openRuns: number; readonly queued: number } | undefined;

  const noteDeaths = (): void => {
    const now = leases.living();
    if ([...living].some((workerId) => !now.has(workerId))) deaths++;
    living = now;
  };

  return {
    isDue: () => {
      noteDeaths();
      if (deaths > sweptDeaths || !last) return true;
      const openRuns = Math.max(0, last.openRuns - Math.max(0, last.queued - waiting()));
      return elapsed() >= last.begun + Math.min(openRuns * msPerRun, longestMs);
    },
    begin: () => {
      const begun = elapsed();
      noteDeaths();
      const found = deaths;
      last = undefined;
      return {
        isAfterDeath: found > sweptDeaths,
        end: (openRuns) => {
          sweptDeaths = found;
          last = { begun, openRuns, queued: waiting() };
        },
      };
    },
  };
}
