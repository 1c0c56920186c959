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
  /** How many runs are read at once. */
  readonly partRuns: number;
  /** The pause before the next part is read, in milliseconds. */
  readonly pauseMs: number;
  /** Whether a process has died since this sweep began, which was not after a death: then one that reads all at once is better. */
  readonly isOutdated: () => boolean;
  /** To be called with the number of open runs that it has found; a sweep that fails is due again. */
  readonly end: (openRuns: number) => void;
}

/** Time per open run until the next sweep, in milliseconds: sweeps read fifty runs a second. */
const msPerRun = 20;

/**
 * A sweep that nobody waits for reads a few runs at a time, with pauses: reading a thousand at once made one of a hundred other calls a fifth
 * slower. In milliseconds, and in runs.
 */
const longestPauseMs = 200;
const leastPart = 10;
const mostPart = 100;

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
  /** How many runs the last whole sweep found. */
  let expected: number | undefined;

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
      const isAfterDeath = found > sweptDeaths;
      const { partRuns, pauseMs } = isAfterDeath ? atOnce : partsOf(expected, longestMs);
      return {
        isAfterDeath,
        partRuns,
        pauseMs,
        isOutdated: () => {
          noteDeaths();
          return deaths > found && !isAfterDeath;
        },
        end: (openRuns) => {
          expected = openRuns;
          sweptDeaths = found;
          last = { begun, openRuns, queued: waiting() };
        },
      };
    },
  };
}

interface Parts {
  readonly partRuns: number;
  readonly pauseMs: number;
}

const atOnce: Parts = { partRuns: mostPart, pauseMs: 0 };

/** Parts for so many runs, whose pauses take no longer together than `longestMs`. The first sweep of a process does not know how many there are. */
function partsOf(runs: number | undefined, longestMs: number): Parts {
  if (runs === undefined) return atOnce;
  const partRuns = Math.min(mostPart, Math.max(leastPart, Math.ceil((runs * longestPauseMs) / longestMs)));
  return { partRuns, pauseMs: Math.min(longestPauseMs, (longestMs * partRuns) / Math.max(runs, 1)) };
}
