/**
 * The field of a state in which a graph of another engine keeps what the tasks of its last step gave, and which tasks come next. A node of such a
 * graph may have several tasks in one step. It is hidden from callers, and stands with the step in the record and in its events.
 */
export const tasksField = '__tasks';

/** A field that a task has changed: what it returned, or that this is what the field is after the step. */
interface TaskWrites {
  /** What it returned for fields, by their names. */
  readonly writes: Readonly<Record<string, unknown>>;
  /** The fields for which it returned what they are after the step, or more than is kept. */
  readonly same: readonly string[];
  /** The ids of the messages that it gave. */
  readonly messages: readonly string[];
  /** The ids of the messages that it removed. */
  readonly removed: readonly string[];
}

/** A task that has returned. */
interface RanTask extends TaskWrites {
  readonly node: string;
  /** Its place among the tasks of its node. */
  readonly index: number;
  /** Whether it had returned before, in a step that has gone on since. */
  readonly earlier?: true;
}

/** A task of the next step, or of one that waits for an answer. */
export interface NextTask {
  readonly node: string;
  /** Why it runs, in the words of the engine. */
  readonly path: readonly unknown[];
  /** The input of a branch, where it is small and holds no message. */
  readonly input?: unknown;
  /** The ids of its questions without an answer. */
  readonly asked?: readonly string[];
  /** What it has returned while others wait. */
  readonly result?: TaskWrites;
}

/** What the field {@link tasksField} holds. */
export interface StepTasks {
  /** In the order in which they are merged. */
  readonly ran: readonly RanTask[];
  readonly next: readonly NextTask[];
}
