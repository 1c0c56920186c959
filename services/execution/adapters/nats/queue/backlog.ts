import type { Streams } from '../client/streams.ts';

/** How many runs wait in the queue: an estimate that does not ask the server each time. */
export interface Backlog {
  readonly waiting: () => number;
  /** Counts a run that is being put. Call the result with whether the run was new. */
  readonly put: () => (isNew: boolean) => void;
  readonly take: () => void;
  readonly settle: () => void;
  /** The lanes with runs that are not delivered yet, as the server has them. */
  readonly filledLanes: () => Promise<ReadonlySet<number>>;
}

/** The age of the server's answer after which it is asked again. Until then only this replica's own runs are counted. */
const staleMs = 1000;

export function createBacklog({ manager, names }: Streams): Backlog {
  let waiting = 0;
  /** Runs taken here and not settled: the server still counts them. */
  let unsettled = 0;
  let askedAt = -Infinity;
  /** Counts the runs put and taken here. An answer that was under way during such a change is outdated. */
  let changes = 0;
  let beingPut = 0;

  const refresh = async (): Promise<void> => {
    const before = changes;
    const { state } = await manager.streams.info(names.runs);
    if (changes === before && beingPut === 0) waiting = Math.max(0, state.messages - unsettled);
  };

  return {
    waiting: () => {
      if (performance.now() - askedAt > staleMs) {
        askedAt = performance.now();
        // The number is a hint: when the server cannot be asked now, it is asked the next time.
        refresh().catch(() => undefined);
      }
      return waiting;
    },

    put: () => {
      beingPut++;
      return (isNew) => {
        beingPut--;
        changes++;
        if (isNew) waiting++;
      };
    },

    take: () => {
      changes++;
      waiting = Math.max(0, waiting - 1);
      unsettled++;
    },

    settle: () => {
      unsettled--;
    },

    filledLanes: async () => {
      const lanes = new Set<number>();
      const { state } = await manager.streams.info(names.runs);
      if (state.messages === 0) return lanes;
      for await (const { name, num_pending: pending } of manager.consumers.list(names.runs)) {
        if (pending > 0) lanes.add(Number(name.slice(names.consumer('').length)));
      }
      return lanes;
    },
  };
}
