import { pino, type Logger } from 'pino';
import { toLoggedError } from './logged-error.ts';
import { toFields, requestContext, traceIdOf } from './request-context.ts';

export type Log = Logger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * Log lines in JSON on standard output, each with the ids of the request and run that it belongs to. Callers log ids, sizes and codes,
 * never contents or tokens; the redaction below hides such fields should a caller log them all the same.
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

/** The ids of the request context; an absent one has no field in the line. */
function idsOfWork(): object {
  const own = requestContext();
  return { request_id: own.requestId, run_id: own.runId, thread_id: own.threadId, trace_id: traceIdOf(own) };
}
