import { pino, type Logger, type LoggerOptions } from 'pino';
import { toLogText } from './log-text.ts';
import { toLoggedError } from './logged-error.ts';
import { toFields, requestContext, traceIdOf } from './request-context.ts';

export type Log = Logger;

/** `auto` is text on a terminal, else JSON. */
export const logFormats = ['auto', 'json', 'text'] as const;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Whether lines of this format are for people. */
export const isLogText = (format: (typeof logFormats)[number]): boolean =>
  format === 'text' || (format === 'auto' && process.stdout.isTTY);

/**
 * Log lines on standard output, in JSON or as text, each with the ids of the request and run that it belongs to. Callers log ids, sizes and codes,
 * never contents or tokens; the redaction below hides such fields should a caller log them all the same.
 */
export function createLog(
  service: string,
  level: (typeof logLevels)[number],
  format: (typeof logFormats)[number] = 'json',
): Log {
  const options: LoggerOptions = {
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    mixin: idsOfWork,
    formatters: { log: toFields },
    serializers: { err: toLoggedError },
    redact: ['*.authorization', '*.headers', '*.token', '*.content', '*.messages', '*.password', '*.secret'],
  };
  return isLogText(format) ? pino(options, textStream) : pino(options);
}

const textStream = { write: (line: string): unknown => process.stdout.write(`${toLogText(line.trimEnd())}\n`) };

/** The ids of the request context; an absent one has no field in the line. */
function idsOfWork(): object {
  const own = requestContext();
  return { request_id: own.requestId, run_id: own.runId, thread_id: own.threadId, trace_id: traceIdOf(own) };
}
