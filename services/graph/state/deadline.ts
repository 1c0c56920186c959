import { hasMark } from '@agent-workflow/kit/mark';
import { sizes } from '@agent-workflow/kit/sizes';
import { toJsonValue } from './json-value.ts';
import { nameOf } from './name-of.ts';
import { StatedError } from './stated-error.ts';

const mark: unique symbol = Symbol.for('@agent-workflow/graph: deadline passed');

/** Thrown by `interrupt` where the deadline of the question has passed, and the question has no default. */
export class DeadlinePassed extends StatedError {
  override readonly name = 'DeadlinePassed';
  readonly [mark] = true;

  constructor() {
    super('nobody answered the question before its deadline', { reason: 'timed_out' });
  }

  /** Also one of another copy of this package. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasMark(error, mark);
  }
}

/** Stands among the answers of a step for the answer to a question whose deadline has passed, and that has no default. */
export const unanswered: unique symbol = Symbol('no answer before the deadline');

/** The longest sleep, and the latest deadline, in milliseconds: ten years, as in Temporal. */
export const longestMs = 10 * 365.25 * 24 * 3600 * 1000;

/** What a question shows of its deadline. */
export interface Deadline {
  /** ISO 8601, in UTC. */
  readonly deadline?: string;
  readonly default?: unknown;
}

interface Asking {
  readonly deadline?: number | Date | undefined;
  readonly default?: unknown;
}

/** The deadline of a question that is asked at the time `at`. @throws Error when the options are none. */
export function readDeadline(options: Asking | undefined, at: number): Deadline {
  if (options?.deadline === undefined) {
    if (options && Object.hasOwn(options, 'default') && options.default !== undefined)
      throw new TypeError('interrupt() is given a default without a deadline');
    return {};
  }
  const { deadline } = options;
  const ms = isDate(deadline) ? Math.max(0, deadline.getTime() - at) : deadline;
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= longestMs))
    throw new RangeError(
      `the deadline of interrupt() is a number of milliseconds or a Date, at most ten years ahead, not ${nameOf(deadline)}`,
    );
  return {
    deadline: new Date(Math.ceil(at + ms)).toISOString(),
    ...(Object.hasOwn(options, 'default') && {
      default: toJsonValue(options.default, 'the default of interrupt()', sizes.message),
    }),
  };
}

/** Also one that was made in another context of Node, as test runners make them. */
export const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === '[object Date]';

/** When the first of the questions is due that have a deadline, in milliseconds since 1970; `undefined` where none has one. */
export function firstDeadline(questions: readonly Deadline[]): number | undefined {
  let first = Infinity;
  for (const { deadline } of questions) if (deadline !== undefined) first = Math.min(first, Date.parse(deadline));
  return first === Infinity ? undefined : first;
}
