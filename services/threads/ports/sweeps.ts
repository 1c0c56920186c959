import type { PageLimits, RunRow } from './lists.ts';
import type { ThreadKey } from './record.ts';

/** A run that has not ended. */
export interface OpenRun extends RunRow {
  readonly owner: string;
}

export interface OpenRunsPage extends PageLimits {
  /** Absent: the page begins at the end of the order. */
  readonly after?: string | undefined;
  /** Whether the order is turned round; no when absent. */
  readonly newestFirst?: boolean | undefined;
}

/** A run that sleeps, or an interrupted one whose questions have a deadline. */
export interface SleepingRun extends ThreadKey {
  readonly runId: string;
  /** When its sleep ends, or the first deadline. */
  readonly wakeAt: number;
  readonly isAsking?: boolean;
}

/** A page of sleeping runs begins after this one, in order of wake time and run id. */
export interface WakeMark {
  readonly wakeAt: number;
  readonly runId: string;
}

export interface IdleTimes {
  readonly before: number;
  readonly waitingBefore?: number | undefined;
}

/** The port of the sweeps: what they find across all owners, and what they remove. Times are in milliseconds since 1970. */
export interface ThreadSweeps {
  /**
   * Runs of every owner that are queued or running, by run id, from the first above `after`, or the other way round from the first below
   * it. Sleeping ones may be among them. Ids of ours are in the order of their texts; where others stand among them is the store's to say,
   * the same each time.
   */
  readonly listOpenRuns: (page: OpenRunsPage) => Promise<readonly OpenRun[]>;
  /**
   * At most `limit` runs of every owner that sleep until `until` or less, or are interrupted and have a wake time as early, by wake time and
   * run id, following `after`.
   */
  readonly listSleepingRuns: (page: {
    readonly until: number;
    readonly after?: WakeMark | undefined;
    readonly limit: number;
  }) => Promise<readonly SleepingRun[]>;
  /**
   * At most `limit` threads of every owner that were last updated before `before`, that no run holds, that have no `ttl` and that are not being deleted. Those
   * with open questions or open calls were last updated before `waitingBefore`, too, and the deadline of their questions is before it; none of
   * them when it is absent.
   */
  readonly listIdle: (times: IdleTimes, limit: number) => Promise<readonly ThreadKey[]>;
  /** At most `limit` threads of every owner that are marked deleting. */
  readonly listDeleting: (limit: number) => Promise<readonly ThreadKey[]>;
  /**
   * Drops at most `limit` checkpoints made before `time`, and returns how many. Of a thread the oldest go first, so that no
   * checkpoint is left above a gap. Those from the version on that the active run found stay. A store whose checkpoints expire
   * by themselves drops nothing here.
   */
  readonly expireCheckpoints: (time: number, limit: number) => Promise<number>;
  /** Removes every row of a thread that is marked deleting; of any other thread, nothing. */
  readonly purge: (key: ThreadKey) => Promise<void>;
}
