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

/** An error with the chain of its causes, within bounds. An agent may throw any value, of any size, even one whose properties throw. */
export function toLoggedError(error: unknown, causes = 0): LoggedError {
  try {
    if (!isErrorLike(error)) return { type: typeof error, message: shortened(String(error)) };
    const { name = 'Error', message, stack, cause, errors } = error;
    const code =
      'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : undefined;
    return {
      type: shortened(String(name)),
      message: shortened(message),
      ...(code !== undefined && { code: shortened(String(code)) }),
      ...(typeof stack === 'string' && { stack: shortened(stack) }),
      ...(cause !== undefined && causes < maxCauses && { cause: toLoggedError(cause, causes + 1) }),
      ...(Array.isArray(errors) &&
        causes < maxCauses && { errors: errors.slice(0, maxErrors).map((each) => toLoggedError(each, maxCauses)) }),
    };
  } catch {
    return { type: 'unknown', message: 'what was thrown cannot be read' };
  }
}

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
