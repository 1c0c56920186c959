import type { AgentRecords, Routing } from '../ports/agents.ts';

/** The routings of all agents, by name. `readAt`: when they were read, in milliseconds since 1970; absent: none is newer. */
export type RoutingsByAgent = ReadonlyMap<string, Routing> & { readonly readAt?: number };

/** The routings as this process knows them. */
export interface Routings {
  /** At most two seconds old. Agents that are not registered are absent, and cost no read either. */
  readonly get: () => Promise<RoutingsByAgent>;
  /** The next call reads them anew: this process has changed one. */
  readonly forget: () => void;
  /** Reads them anew. */
  readonly getNew: () => Promise<RoutingsByAgent>;
}

/** How old routings may be, in milliseconds. */
const keptMs = 2000;

interface Kept {
  readonly at: number;
  readonly routings: Promise<RoutingsByAgent>;
}

/**
 * Keeps the routings of all agents together: the service bounds how many agents there are, and one read in two seconds serves every run.
 * Calls at the same time share one read; one that fails is not kept.
 */
export function createRoutings(
  store: Pick<AgentRecords, 'listRoutings'>,
  { elapsed, now }: { readonly elapsed: () => number; readonly now: () => number },
): Routings {
  let kept: Kept | undefined;
  const read = async (): Promise<RoutingsByAgent> => {
    const readAt = now();
    return Object.assign(new Map(await store.listRoutings()), { readAt });
  };
  const readAnew = (): Kept => {
    const reading: Kept = { at: elapsed(), routings: read() };
    kept = reading;
    reading.routings.catch(() => {
      if (kept === reading) kept = undefined;
    });
    return reading;
  };
  return {
    get: async () => (kept && elapsed() - kept.at < keptMs ? kept : readAnew()).routings,
    getNew: async () => new Map(await readAnew().routings),
    forget: () => {
      kept = undefined;
    },
  };
}
