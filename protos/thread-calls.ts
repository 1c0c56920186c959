import type { Threads } from './threads.ts';

// The calls of the threads service by what they are for. A caller asks for the parts that it uses; the service on the wire is one.

/** A run from its acceptance to its end. */
export type RunCalls = Pick<Threads, 'acceptRun' | 'claimRun' | 'releaseRun' | 'commitStep' | 'endRun'>;

/** What is on record of runs. */
export type RunReadCalls = Pick<Threads, 'getRun' | 'listRuns' | 'listRunMessages' | 'listRunSteps'>;

/** Tool calls that may be made at most once. */
export type ToolCallCalls = Pick<Threads, 'noteToolStarted' | 'noteToolResult'>;

export type StateCalls = Pick<Threads, 'getState' | 'writeState' | 'clearState'>;

export type MessageCalls = Pick<Threads, 'listMessages' | 'getMessage' | 'addMessages' | 'deleteMessage' | 'fixThread'>;

/** Checkpoints, and forks made from them. */
export type HistoryCalls = Pick<Threads, 'listCheckpoints' | 'getCheckpoint' | 'forkThread'>;

export type ThreadReadCalls = Pick<Threads, 'getThread' | 'listThreads'>;

export type DeletionCalls = Pick<Threads, 'beginDelete' | 'finishDelete'>;

/** What loops across all owners look for. */
export type SweepCalls = Pick<Threads, 'listOpenRuns' | 'listIdle' | 'listDeleting'>;

/** Requests that carry an idempotency key. */
export type IdempotencyCalls = Pick<Threads, 'beginOnce' | 'endOnce'>;
