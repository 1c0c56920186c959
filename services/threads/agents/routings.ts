import type { AgentRecords, Routing } from '../ports/agents.ts';

/** The routings of all agents, by name. */
export type RoutingsByAgent = ReadonlyMap<string, Routing>;

/** The routings as this process knows them. */
export interface Routings {
  /** At most two seconds old. Agents that are not registered are absent, and cost no read either. */
  readonly get: () => Promise<RoutingsByAgent>;
  /** The next call reads them anew: this process has changed one. */
  readonly forget: () => void;
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
export function createRoutings(store: Pick<AgentRecords, 'listRoutings'>, elapsed: () => number): Routings {
  let kept: Kept | undefined;
  const forget = (): void => {
    kept = undefined;
  };
  return {
    get: async () => {
      const now = elapsed();
      if (kept && now - kept.at < keptMs) return kept.routings;
      const reading: Kept = { at: now, routings: store.listRoutings() };
      kept = reading;
      reading.routings.catch(() => {
        if (kept === reading) kept = undefined;
      });
      return reading.routings;
    },
    forget,
  };
}
