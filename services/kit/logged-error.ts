/** An error as a log line holds it. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
  /** Of an error that stands for several: the first of them. */
  readonly errors?: readonly LoggedError[];
}

/** Characters of one text of an error that are logged: its beginning and its end. */
const maxText = 16 * 1024;
/** Errors of a chain of causes that are logged, and errors that one stands for: those are logged without their causes. */
const maxCauses = 5;
const maxErrors = 5;

/** An error with the chain of its causes, bounded: code of an agent may throw anything, of any size, also what throws when it is read. */
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

/** Also what came from another thread, which is no instance of this one's Error. */
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
