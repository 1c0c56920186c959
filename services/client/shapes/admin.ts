import type { Json } from './json.ts';
import type { Page, Paged } from './lists.ts';
import type { Run, RunFilter } from './runs.ts';
import type { Thread, ThreadStatus } from './threads.ts';

/** Whose it is: without an id of the anonymous owner. */
export interface OfOwner {
  readonly user_id?: string;
}

/** Why it is done: it stands in the audit. */
export interface ForReason extends OfOwner {
  readonly reason: string;
}

/** Titles, names, metadata, questions and texts of errors are `null`, unless `show` is `contents`, which needs a reason. */
export type Showing = { readonly show?: 'masked' } | { readonly show: 'contents'; readonly reason: string };

/** A run of somebody. Without contents the message of its error is `null`. */
export interface OwnedRun extends Run<string | null> {
  readonly user_id: string | null;
}

/** Which runs of everybody are listed. */
export type AllRunsQuery = Pick<Page, 'limit' | 'cursor'> & OfOwner & Omit<RunFilter, 'search' | 'error'>;

export interface AllThreadsQuery extends Pick<Page, 'limit' | 'cursor'>, OfOwner {
  readonly agent?: string;
  /** One status, or any of several. */
  readonly status?: ThreadStatus | readonly ThreadStatus[];
}

export type AllQuestionsQuery = Pick<Page, 'limit' | 'cursor'> & OfOwner & { readonly agent?: string } & Showing;

/** A page of a list of everybody's. */
export interface PagedOfAll extends Paged {
  /** The list ends because 10,000 runs are read, and there may be older ones. */
  readonly at_least?: true;
}

export interface AllRuns extends PagedOfAll {
  readonly runs: readonly OwnedRun[];
}

export interface AllThreads extends PagedOfAll {
  readonly threads: readonly Thread[];
}

/** What a thread of somebody waits for. */
export interface OwnedQuestion {
  readonly user_id: string | null;
  readonly thread_id: string;
  readonly run_id: string;
  readonly agent: string;
  /** The nodes that ask. */
  readonly nodes: readonly string[];
  readonly waiting_since: string;
  /** When the run goes on without an answer. */
  readonly deadline?: string;
  /** The questions with their values, with contents alone. */
  readonly interrupts?: readonly Json[];
}

export interface AllQuestions extends PagedOfAll {
  readonly questions: readonly OwnedQuestion[];
}

export interface AuditQuery {
  /** ISO 8601; the last day without them. */
  readonly from?: string;
  readonly to?: string;
  /** The `id` of the last line of the page before. */
  readonly before?: string;
  readonly limit?: number;
}

/** Who read or did what with things of somebody else, and why. */
export interface AuditLine {
  readonly id: string;
  readonly at: string;
  readonly user_id: string | null;
  readonly roles: readonly string[];
  /** The API key by which they came. */
  readonly key_id?: string;
  readonly action: 'read' | 'stop' | 'retry';
  readonly operation: string;
  readonly owner_id: string | null;
  readonly run_id?: string;
  readonly thread_id?: string;
  readonly reason: string;
  readonly request_id: string;
}

/** A page of the steps of a run, behind the step `after`. */
export interface StepsPage {
  readonly limit?: number;
  readonly after?: number;
}
