/** A number of waiting runs that follows what is done here, and is corrected by the server now and then. */
export interface Estimate {
  readonly waiting: () => number;
  /** Whether the server has answered. */
  readonly isCounted: () => boolean;
  /** Counts anew, and believes it also where runs are put or taken meanwhile. @throws what the count throws. */
  readonly recount: (count?: () => Promise<number>) => Promise<void>;
  /** Counts a run that is being put. Call the result with whether the run was new. */
  readonly put: () => (isNew: boolean) => void;
  readonly take: () => void;
  readonly settle: () => void;
}

/** The age of the server's answer after which it is asked again. Until then only this replica's own runs are counted. */
const staleMs = 1000;
/** Under steady load every answer is a little outdated. After so long one is accepted: what others have taken counts more. */
const longestDriftMs = 5000;

/** `count` asks the server, which also counts the runs that were taken and not settled. */
export function createEstimate(count: () => Promise<number>): Estimate {
  let waiting = 0;
  /** Runs taken here and not settled: the server still counts them. */
  let unsettled = 0;
  let askedAt = -Infinity;
  /** Counts the runs put and taken here. An answer that was under way during such a change is inexact. */
  let changes = 0;
  let beingPut = 0;
  /** When an answer of the server was last accepted. */
  let countedAt = -Infinity;
  const openedAt = performance.now();

  let asked = 0;
  /** Of the answers, the question that the newest believed one answers: an older one that arrives later says less. */
  let believed = 0;

  const request = async (isBelieved: () => boolean, read = count): Promise<void> => {
    const question = ++asked;
    askedAt = performance.now();
    const counted = await read();
    if (question < believed || !isBelieved()) return;
    believed = question;
    waiting = Math.max(0, counted - unsettled);
    countedAt = performance.now();
  };

  const refresh = async (): Promise<void> => {
    const before = changes;
    await request(() => {
      const isExact = changes === before && beingPut === 0;
      return isExact || performance.now() - Math.max(countedAt, openedAt) >= longestDriftMs;
    });
  };

  return {
    waiting: () => {
      if (performance.now() - askedAt > staleMs) {
        // The number is a hint: when the server cannot be asked now, it is asked the next time.
        refresh().catch(() => undefined);
      }
      return waiting;
    },

    isCounted: () => countedAt > -Infinity,

    recount: async (read) => request(() => true, read),

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
  };
}
