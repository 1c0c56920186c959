/** What a dialect adds to a run by itself. It is never read from a body, and schedules keep it apart from the order of their caller. */
export interface RunTerms {
  /** Whether a run that reaches its recursion limit fails; absent: it ends with what it has. */
  readonly failsAtLimit?: boolean;
  /** Whether what goes on in sub-graphs is among its events. */
  readonly streamsSubgraphs?: boolean;
  /** Whether the fields of its input are on record before its first nodes run. */
  readonly recordsInput?: boolean;
  /** The ids of messages that leave the context before it begins; `__remove_all__`: all that were there before its own. */
  readonly removes?: readonly string[];
  /** The run goes on where its thread stands; `messages` and `initial_state` of its order join the thread before. */
  readonly goesOn?: true;
  /** What the dialect shows of its request later. The record keeps it with the run, and nodes do not see it. */
  readonly keptRequest?: Readonly<Record<string, unknown>>;
  /** What is set in the metadata of a thread that is there already, unless a run holds it. */
  readonly threadMarks?: Readonly<Record<string, unknown>>;
}
