import { hasMark } from '@agent-workflow/kit/mark';
import { StatedError } from './stated-error.ts';

const mark: unique symbol = Symbol.for('@agent-workflow/graph: answers differ');

/** Thrown by `interrupt` where a question asks several callers, and one of them has given another answer than those before. */
export class AnswersDiffer extends StatedError {
  override readonly name = 'AnswersDiffer';
  readonly [mark] = true;

  constructor() {
    super('the question was given answers that differ', { reason: 'user_error' });
  }

  /** Also one of another copy of this package. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasMark(error, mark);
  }
}

/** Stands among the answers of a step for the answer to a question whose callers do not agree. */
export const disputed: unique symbol = Symbol('answers that differ');
