import type { FailureReason, ModelParameter } from '@agent-workflow/kit/errors';
import { hasMark } from '@agent-workflow/kit/mark';
import { refuseUnknown } from './refuse-unknown.ts';

const mark: unique symbol = Symbol.for('@agent-workflow/graph: stated error');

interface StatedOptions {
  readonly reason: FailureReason;
  readonly parameter?: ModelParameter | undefined;
  /** For the log alone. */
  readonly cause?: unknown;
}

/** An error whose message callers and models may read. Of any other error they get its reason. */
export class StatedError extends Error {
  readonly [mark] = true;
  // Members of its own would be JSON: one that is returned and not thrown would be taken for a result.
  readonly #why: Omit<StatedOptions, 'cause'>;

  constructor(message: string, { reason, parameter, cause }: StatedOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.#why = { reason, parameter };
  }

  get reason(): FailureReason {
    return this.#why.reason;
  }

  get parameter(): ModelParameter | undefined {
    return this.#why.parameter;
  }
}

/** Whether this is a {@link StatedError}, of whichever copy of this package. */
export const isStatedError = (error: unknown): error is StatedError => hasMark(error, mark);

/**
 * An error whose text the caller of the run reads, and a model where a tool throws it.
 * @example throw userError('The order has been sent already.')
 */
export function userError(text: string, options: { readonly cause?: unknown } = {}): Error {
  if (typeof text !== 'string') throw new TypeError('userError takes the text that the caller is to read');
  refuseUnknown('what userError is given', '', options, { cause: true });
  return new StatedError(text, { reason: 'user_error', cause: options.cause });
}
