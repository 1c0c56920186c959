import type { Traced } from './instrument.ts';

/** One call of a function of ours; calls have numbers from 0, in the order in which they began. */
export interface Call {
  /** The function that is called, by its id. */
  readonly to: number;
  /** The call that makes it: the last one of the function that calls. Absent where that began before the recording. */
  readonly by?: number;
  /** The last call of the function that the called one is written in, which may have made it what it is. */
  readonly madeBy?: number;
  /** The function that calls. */
  readonly from: number;
}

export interface Recording {
  readonly calls: readonly Call[];
  /** The calls that do what the recording ends with; empty where a stream of Node's stands before it. */
  readonly ends: readonly number[];
  readonly functions: Readonly<Record<string, Traced>>;
}
