import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';

const terminalKinds: Readonly<Record<EventKind, boolean>> = {
  metadata: false,
  on_chain_start: false,
  on_chain_stream: false,
  messages_chunk: false,
  state_chunk: false,
  context_chunk: false,
  summary_chunk: false,
  on_chain_end: true,
  error: true,
};

/** Whether an event ends its run's log. */
export const isTerminal = ({ kind }: Pick<RunEvent, 'kind'>): boolean => terminalKinds[kind as EventKind];

export interface AppendOptions {
  /** Whether the caller waits until the events are written; true unless given. */
  readonly isAwaited?: boolean;
}

/**
 * The numbered events of each run: 1, 2, 3 … without a gap, the last one terminal. A log is a replay cache: losing it
 * loses no run. A rebuilt log begins above 1, in numbers of its own (`log-numbers.ts`).
 */
export interface RunLog extends AsyncDisposable {
  /**
   * Names the agent of a run, where it is known, before the calls about that run. Where logs of agents are kept apart, it says where the
   * run's log begins, and what is written elsewhere under the id of the run is not part of it. A log that is begun without it is one of
   * `default`.
   */
  readonly setAgent: (runId: string, agent: string) => void;
  /** A moment of this log, for `beganAfter`. */
  readonly moment: () => number;
  /**
   * Says that the run was accepted after that moment, so that no event of it was stored before: the log need not be looked for where it is
   * stored. To be called after `setAgent`.
   */
  readonly beganAfter: (runId: string, moment: number) => void;
  /**
   * Adds events of the run that `scope` names. Their numbers follow `after`; in an empty log, `after` being 0, they begin where a
   * log may begin. Once it has resolved, the events survive the death of the process; no follower sees them before. Appends of one
   * run keep the order of the calls. Those of a run without followers, and those that say only how far a run is, may wait a little to be
   * written together, a quarter of a second at most where `isAwaited` is false.
   * @throws Stale when the log's last number is not `after`, because another worker has the run.
   */
  readonly append: (
    scope: RunScope,
    after: number,
    events: readonly RunEvent[],
    options?: AppendOptions,
  ) => Promise<void>;
  /** Says that others may write the next events of the run from now on: it sleeps, was stopped or handed off. What was kept to write them here is released. Without effect on one that has ended. */
  readonly leave: (runId: string) => void;
  /**
   * Whether events can be written, as far as is known here: false from a refused write on, until one is accepted again. Then no run should be
   * begun: its callers would wait for an end that nobody can write.
   */
  readonly canWrite: () => boolean;
  /** Whether the terminal event is stored, or waits to be written. */
  readonly isEnded: (runId: string) => Promise<boolean>;
  /** The last number; 0 when the run has no events. */
  readonly last: (runId: string) => Promise<number>;
  /**
   * Batches of events above `after`, live until the terminal one. Followers do not slow the run down: a slow one reads what is
   * stored.
   */
  readonly follow: (runId: string, after: number, signal: AbortSignal) => AsyncIterable<EventBatch>;
  /**
   * Batches of the events that the log has up to number `upTo`, and perhaps of some that follow it. `upTo` is a result of `last`: what waits
   * to be written here is waited for, and nothing else. Events that are gone or cannot be read are left out.
   */
  readonly readUpTo: (runId: string, upTo: number, signal: AbortSignal) => AsyncIterable<EventBatch>;
  /** The terminal event, as soon as there is one, perhaps before it is stored. @throws the signal's reason when it fires first. */
  readonly end: (runId: string, signal: AbortSignal) => Promise<RunEvent>;
  /** Removes the logs that ended before `time` (milliseconds since 1970), at most `limit` of them; resolves with their number. */
  readonly expire: (time: number, limit: number) => Promise<number>;
  /**
   * Runs whose logs have no terminal event and no event since `time`, and are neither written nor followed right now. The record
   * knows whether the runs are still open. None where the server removes events by their age.
   */
  readonly unended: (time: number) => Promise<readonly string[]>;
  /** Removes these logs, except those that are written or followed right now. */
  readonly drop: (runIds: readonly string[]) => Promise<void>;
}
