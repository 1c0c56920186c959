import { setTimeout as delay } from 'node:timers/promises';
import type { Replica } from '../servers/cluster-replica.ts';

export interface Kills {
  readonly count: () => number;
  /** Kills one for good. */
  readonly end: (replica: Replica) => Promise<void>;
  /** Resolves when all that were killed run again, with what could not be started. */
  readonly stop: () => Promise<readonly string[]>;
}

const shortestMs = 1000;
const longestMs = 4000;

/** Kills one process after the other, and starts each again at once. */
export function startKills(replicas: readonly Replica[], random: () => number): Kills {
  const over = new AbortController();
  const failures: string[] = [];
  const left = new Set(replicas);
  let count = 0;
  let underWay = Promise.resolve();
  const killOne = async (): Promise<void> => {
    const replica = [...left][Math.floor(random() * left.size)];
    if (replica === undefined) return;
    await replica.kill();
    count++;
    await replica.start().catch((error: unknown) => failures.push(`${replica.name} does not start: ${String(error)}`));
  };
  const killing = (async () => {
    while (!over.signal.aborted) {
      await delay(shortestMs + random() * (longestMs - shortestMs), undefined, { signal: over.signal });
      underWay = killOne();
      await underWay;
    }
  })();
  return {
    count: () => count,
    end: async (replica) => {
      left.delete(replica);
      await underWay;
      await replica.kill();
      count++;
    },
    stop: async () => {
      over.abort();
      await killing.catch(ignoreAbort);
      return failures;
    },
  };
}

const ignoreAbort = (error: unknown): void => {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
};
