import { pino, type Logger } from 'pino';
import { toLoggedError } from './logged-error.ts';
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

/** What is absent leaves no field. */
function idsOfWork(): object {
  const own = requestContext();
  return { request_id: own.requestId, run_id: own.runId, thread_id: own.threadId, trace_id: traceIdOf(own) };
}
