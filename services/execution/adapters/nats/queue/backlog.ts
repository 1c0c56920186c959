import type { Streams } from '../streams.ts';

/** How many runs wait in the queue, as well as it is known without asking each time. */
export interface Backlog {
  readonly waiting: () => number;
  /** Counts a run that is being put in; to be told how that went. */
  readonly put: () => (isNew: boolean) => void;
  readonly take: () => void;
  readonly settle: () => void;
  /** The lanes where runs wait to be given out, as the server says. */
  readonly filledLanes: () => Promise<ReadonlySet<number>>;
}

/** How old what the server said may be: between, only this replica's own runs are counted. */
const staleMs = 1000;

export function createBacklog({ manager, names }: Streams): Backlog {
  let waiting = 0;
  /** Taken here and not settled: the server still has them. */
  let unsettled = 0;
  let askedAt = -Infinity;
  /** Counts what was put and taken here: an answer that was under way meanwhile is already wrong. */
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
        // It is a hint: what cannot be asked now is asked the next time.
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
