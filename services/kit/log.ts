import { pino, type Logger } from 'pino';
import { toFields, requestContext, traceIdOf } from './request-context.ts';

export type Log = Logger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * JSON lines on standard output, each with the ids of the work that it is about. Callers log ids, sizes and codes, never
 * contents or tokens; the redaction below is the second lock on that door.
 */
export function createLog(service: string, level: (typeof logLevels)[number]): Log {
  return pino({
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    mixin: idsOfWork,
    formatters: { log: toFields },
    serializers: { err: toLoggedError },
    redact: ['*.authorization', '*.headers', '*.token', '*.content', '*.messages', '*.password', '*.secret'],
  });
}

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

/** What is absent leaves no field. */
function idsOfWork(): object {
  const own = requestContext();
  return { request_id: own.requestId, run_id: own.runId, thread_id: own.threadId, trace_id: traceIdOf(own) };
}

/** A log that says nothing: for tests and tools. */
export const silentLog: Log = pino({ level: 'silent' });
