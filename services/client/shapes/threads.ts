import type { Json, JsonObject } from './json.ts';
import type { Page, Paged } from './lists.ts';
import type { Interrupt, Tokens } from './results.ts';

export interface Thread {
  readonly thread_id: string;
  readonly thread_name: string | null;
  /** Its name, else the first message of a user, on one line of at most 120 characters. */
  readonly title: string | null;
  readonly user_id: string | null;
  readonly metadata: JsonObject | null;
  readonly updated_at: string | null;
  readonly run_id?: string | null;
  /** The agent of its runs; `null` before the first. */
  readonly agent: string | null;
  /** Absent in lists that are no search. */
  readonly status?: ThreadStatus;
  /** What an interrupted thread waits for. */
  readonly waits_for?: WaitsFor;
  /** For how many seconds it is kept after its last change, where that is its own. */
  readonly ttl?: number;
  readonly [field: string]: Json;
}

export type ThreadStatus = 'queued' | 'running' | 'sleeping' | 'interrupted' | 'failed' | 'idle';

export type WaitsFor = 'answer' | 'tool_results';

/** What is absent stays, and `null` removes: the name, all metadata, or one key of it, and the ttl. */
export interface ThreadChange {
  readonly thread_name?: string | null;
  readonly metadata?: JsonObject | null;
  /** For how many seconds it is kept after its last change. */
  readonly ttl?: number | null;
}

export interface ThreadFilter {
  readonly thread_ids?: readonly string[];
  readonly search?: string;
  readonly agent?: string;
  readonly status?: ThreadStatus | readonly ThreadStatus[];
  readonly waits_for?: WaitsFor;
  /** Made, or changed last, at this time or later, and before that one. */
  readonly created_from?: string | number;
  readonly created_to?: string | number;
  readonly updated_from?: string | number;
  readonly updated_to?: string | number;
  /** Each key of the metadata with an equal value. */
  readonly metadata?: JsonObject;
  /** Each field of the state with this value. */
  readonly values?: Readonly<Record<string, string | number | boolean | null>>;
}

export interface ThreadSearch extends ThreadFilter, Page {
  readonly sort_by?: 'updated_at' | 'created_at' | 'thread_name' | 'thread_id' | 'status';
  readonly sort_order?: 'asc' | 'desc';
  /** The fields to show; `interrupts` are the open questions, `values` the stored fields of the state. */
  readonly select?: readonly string[];
}

export interface FoundThreads extends Paged {
  readonly threads: readonly Partial<Thread>[];
  /** The owner has more threads, and older ones were not looked at. */
  readonly at_least?: true;
}

export interface ThreadCount {
  readonly count: number;
  readonly at_least?: true;
}

export interface InboxQuery extends Omit<Page, 'search'> {
  readonly agent?: string;
}

/** A thread with the questions that wait for an answer: a run of it with `resume`. */
export interface InboxItem {
  readonly thread_id: string;
  readonly thread_name: string | null;
  readonly title: string | null;
  readonly agent: string | null;
  readonly metadata: JsonObject | null;
  readonly run_id: string | null;
  readonly waiting_since: string;
  readonly interrupts: readonly Interrupt[];
}

export interface Inbox extends Paged {
  readonly items: readonly InboxItem[];
  readonly at_least?: true;
}

export interface ThreadState {
  readonly state: JsonObject;
  /** The checkpoint that the thread is at, for a write and for a fork. */
  readonly checkpoint_id: string;
  /** The agent that the thread belongs to; absent before its first run. */
  readonly agent?: string;
  /** `state.context` holds only the newest messages, as many as fit the reply. */
  readonly context_truncated?: boolean;
}

/** How fields of a state are written. */
export interface StateWriting {
  /** `merge`, unless given: each field through its reducer. `replace`: past it, at `checkpoint_id` alone, and without `context`. */
  readonly mode?: 'merge' | 'replace';
  /** The checkpoint that was read; a conflict when the thread has moved on. */
  readonly checkpoint_id?: string;
}

/** A checkpoint with the state at that point. */
export interface PastState extends Omit<ThreadState, 'agent' | 'checkpoint_id'> {
  readonly checkpoint: Checkpoint;
}

/** A version of a thread that can be read again and forked. */
export interface Checkpoint {
  readonly checkpoint_id: string;
  readonly thread_id: string;
  readonly source: 'input' | 'step' | 'update' | 'fork' | 'rollback' | 'restore';
  readonly run_id: string | null;
  /** The number of the step in its run, from 0. */
  readonly step: number | null;
  /** The nodes that ran in the step. */
  readonly nodes: readonly string[];
  /** The nodes that were to run next. */
  readonly next: readonly string[];
  readonly metadata: JsonObject | null;
  readonly created_at: string;
  /** How the step ran; `null` for another checkpoint, and where it is not known. */
  readonly started_at?: string | null;
  readonly ended_at?: string | null;
  /** The attempt at the step that was committed, from 1. */
  readonly attempt?: number | null;
  /** How often its nodes began again after an error. */
  readonly retries?: number | null;
  readonly usage?: Tokens | null;
  readonly [field: string]: Json;
}
