import { pino, type Logger } from 'pino';

export type Log = Logger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * JSON lines on standard output. Callers log ids, sizes and codes, never contents or tokens; the redaction below is
 * the second lock on that door.
 */
export function createLog(service: string, level: (typeof logLevels)[number]): Log {
  return pino({
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: ['*.authorization', '*.headers', '*.token', '*.content', '*.messages', '*.password', '*.secret'],
  });
}

/** A log that says nothing: for tests and tools. */
export const silentLog: Log = pino({ level: 'silent' });
