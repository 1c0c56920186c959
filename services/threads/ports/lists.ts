import type { Head, LogEntry, RunRecord, ThreadKey } from './record.ts';

/** How much of a list is read at once. */
export interface PageLimits {
  readonly limit: number;
  /**
   * Ends the list after the first row at which its rows take more bytes than this, but not before its second row: a caller
   * that reads a page of so many bytes finds one row more than fits when there is more. Sizes are those of
   * `record/row-sizes.ts`. Absent: `limit` alone ends the list.
   */
  readonly bytes?: number | undefined;
}

/** A page of a list: `offset` rows after the row that `after` names, or after the start of the list. */
interface ListPage<Mark> extends PageLimits {
  readonly offset?: number;
  readonly after?: Mark | undefined;
}

/** A thread as lists show it, without what decides who may write. */
export interface ThreadRow extends Pick<
  Head,
  'name' | 'title' | 'metadata' | 'createdAt' | 'updatedAt' | 'newestRun' | 'version' | 'agent'
> {
  readonly threadId: string;
}

/** A page of threads begins after this one, in order of recency. */
export interface RecencyMark {
  readonly updatedAt: number;
  readonly threadId: string;
}

/** A run as lists show it, without its input and options. */
export type RunRow = Pick<
  RunRecord,
  | 'runId'
  | 'threadId'
  | 'requestId'
  | 'status'
  | 'granularity'
  | 'isNewThread'
  | 'createdAt'
  | 'updatedAt'
  | 'resumes'
  | 'resumedBy'
  | 'end'
  | 'wakeAt'
  | 'usage'
  | 'revision'
  | 'priority'
  | 'startedAt'
  | 'ordinal'
>;

/** A page of runs begins after this one, in order of creation. */
export interface RunMark {
  readonly createdAt: number;
  readonly runId: string;
}

/** A run beside what the head of its thread says: who drives it, where it stands, and how the thread is called. */
export interface OwnRunRow extends RunRow {
  readonly head: Pick<
    Head,
    | 'activeRun'
    | 'activeStatus'
    | 'worker'
    | 'epoch'
    | 'agent'
    | 'revision'
    | 'name'
    | 'title'
    | 'next'
    | 'interruptedRun'
    | 'newestRun'
  >;
}

/** A part of the list of an owner's runs. */
export interface OwnRunsPart {
  /** There may be fewer than entries of the list were read: an entry whose thread was deleted has no run. */
  readonly runs: readonly OwnRunRow[];
  /** The mark after which the list continues; absent at its end. It may be given though nothing follows. */
  readonly next?: RunMark;
}

/** A run of any owner, as lists across owners have it. */
export interface AnyRunRow extends OwnRunRow {
  readonly owner: string;
}

/** A part of the list of all runs; {@link OwnRunsPart}. */
export interface AllRunsPart {
  readonly runs: readonly AnyRunRow[];
  readonly next?: RunMark;
}

/** A page of the log, whose marks are positions. */
export interface MessagesPage extends ListPage<number> {
  /** Only entries below this position. */
  readonly below?: number | undefined;
  /** From the last entry backwards: a page begins below the position that `after` names. */
  readonly newestFirst?: boolean | undefined;
}

/** Which part of the list of an owner's runs is read. */
interface OwnRunsPage extends PageLimits {
  readonly after?: RunMark | undefined;
  /**
   * Only the runs of this agent are of use, which is not `default`. A store leaves out those of others where it knows the agent of a place
   * without reading the run, and may give the rest of them.
   */
  readonly agent?: string | undefined;
}

/** The port behind the lists that callers page through. */
export interface ThreadLists {
  /** An owner's threads that are not being deleted, most recently updated first; ties by thread id, descending. */
  readonly listThreads: (owner: string, page: ListPage<RecencyMark>) => Promise<readonly ThreadRow[]>;
  /** The runs of a thread, the newest first; ties by run id, descending. */
  readonly listRuns: (key: ThreadKey, page: ListPage<RunMark>) => Promise<readonly RunRow[]>;
  /**
   * The runs of an owner's threads that are not being deleted, the newest first; ties by run id, descending. Reads at most `limit`
   * places of the list.
   */
  readonly listOwnRuns: (owner: string, page: OwnRunsPage) => Promise<OwnRunsPart>;
  /**
   * The same of all owners. Two owners' runs of one moment and one id come in any order. A store may leave out runs that were accepted more than 90
   * days ago, or before its schema had this list.
   */
  readonly listAllRuns: (page: PageLimits & { readonly after?: RunMark | undefined }) => Promise<AllRunsPart>;
  /** The log in order of position, or in the reverse order, each entry with its version. Reads about as much as it gives. */
  readonly listMessages: (key: ThreadKey, page: MessagesPage) => Promise<readonly LogEntry[]>;
}
