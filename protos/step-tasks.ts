/**
 * The field of a state in which a graph of LangGraph.js keeps what it holds beside its channels. It is hidden from callers, and written by each
 * step, as {@link KeptTasks} says of its tasks.
 */
export const keptName = '__langgraph';

/** What the field {@link keptName} holds of tasks. A node of such a graph may have several in one step. */
export interface KeptTasks {
  /** Absent where each node had one, and the changes of the step say all of it; and where they were too many. */
  readonly given?: StepTasks;
}

/** What a task returned, as far as it is kept. */
interface TaskWrites {
  /** For fields, by their names. */
  readonly writes?: Readonly<Record<string, unknown>>;
  /** The fields for which it returned what they are after the step. */
  readonly same?: readonly string[];
  /** The ids of the messages that it gave. */
  readonly messages?: readonly string[];
  /** The ids of the messages that it removed. */
  readonly removed?: readonly string[];
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

/** What the tasks of a step returned, and which come next. */
export interface StepTasks {
  /** In the order in which they are merged. Empty where it is not kept. */
  readonly ran: readonly RanTask[];
  /** Present where tasks returned more than is kept: the fields of which nothing is, each with the node of a task that wrote it. */
  readonly left?: Readonly<Record<string, string>>;
  readonly next: readonly NextTask[];
}
