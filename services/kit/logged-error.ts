import type { ErrorCode } from './errors.ts';

/** An error as a log line holds it. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
  /** Of an error that stands for several, as an AggregateError does: the first of them. */
  readonly errors?: readonly LoggedError[];
}

/** The most characters of one text of an error that are logged; of a longer text the beginning and the end. */
const maxText = 16 * 1024;
/** How many causes of an error are logged, and how many errors of one that stands for several; the latter without their causes. */
const maxCauses = 5;
const maxErrors = 5;

/**
 * An error with the chain of its causes, within bounds. An agent may throw any value, of any size, even one whose properties throw.
 * What lies around the process, such as a server that is unavailable, has no stacks and one line for each of its causes.
 */
export const toLoggedError = (error: unknown): LoggedError => loggedOf(error, { causes: 0, isAround: false });

interface Place {
  /** How many errors this one is the cause of. */
  readonly causes: number;
  /** Whether one of them lies around the process. */
  readonly isAround: boolean;
}

function loggedOf(error: unknown, { causes, isAround: isOfOther }: Place): LoggedError {
  try {
    if (!isErrorLike(error)) return { type: typeof error, message: shortened(String(error)) };
    const isAround = liesAround(error) || (isOfOther && !isFault(error));
    const { name = 'Error', stack, cause, errors } = error;
    const message = isAround ? (error.message.split('\n', 1)[0] ?? '') : error.message;
    const within: Place = { causes: causes + 1, isAround };
    const code =
      'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : undefined;
    return {
      type: shortened(String(name)),
      message: shortened(message),
      ...(code !== undefined && { code: shortened(String(code)) }),
      ...(typeof stack === 'string' && !isAround && { stack: shortened(stack) }),
      ...(cause !== undefined && causes < maxCauses && { cause: loggedOf(cause, within) }),
      ...(Array.isArray(errors) &&
        causes < maxCauses && {
          errors: errors.slice(0, maxErrors).map((each) => loggedOf(each, { ...within, causes: maxCauses })),
        }),
    };
  } catch {
    return { type: 'unknown', message: 'what was thrown cannot be read' };
  }
}

/** The codes of failures whose reason lies around the process: where the code noticed them does not help who reads the log. */
const codesAround: ReadonlySet<unknown> = new Set<ErrorCode>([
  'Unavailable',
  'Timeout',
  'RateLimited',
  'PermissionDenied',
]);

/** An error of ours is named after its code. */
const liesAround = (error: ErrorLike): boolean =>
  'code' in error && error.code === error.name && codesAround.has(error.code);

const faults: ReadonlySet<unknown> = new Set(['TypeError', 'ReferenceError', 'RangeError', 'SyntaxError']);

/** Whether an error is of the code itself. One with a cause is not: `fetch` throws a TypeError for a server that is unavailable. */
const isFault = ({ name, cause }: ErrorLike): boolean => faults.has(name) && cause === undefined;

/** An error of another thread counts too, although it is no instance of this thread's Error. */
const isErrorLike = (error: unknown): error is ErrorLike =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';

interface ErrorLike {
  readonly message: string;
  readonly name?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

const shortened = (text: string): string =>
  text.length <= maxText ? text : `${text.slice(0, maxText / 2)} … ${text.slice(-maxText / 2)}`;
