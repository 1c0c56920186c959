import type { SpanError } from '@agent-workflow/protos/run-trace';
import { isRunFailure, messageOf, shownOf } from '../state/failure.ts';
import { reasonOf } from '../state/reason-of.ts';
import type { Span } from './step-trace.ts';

/** Ends a span by what was thrown: callers read why in the words that they get elsewhere, operators what it was. */
export function failSpan(span: Span | undefined, thrown: unknown, signal: AbortSignal): void {
  if (!span) return;
  if (signal.aborted) {
    span.end('stopped');
    return;
  }
  if (span.keepsContent) span.add('error', thrownError(thrown));
  span.end('failed', { error: shownError(thrown) });
}

/** Why something failed, as callers may read it. */
export function shownError(thrown: unknown): SpanError {
  if (isRunFailure(thrown)) {
    const { text, reason } = shownOf(thrown);
    return { message: text, code: thrown.code, ...(reason !== undefined && { reason }) };
  }
  const { text, reason } = reasonOf(thrown);
  return { message: text, reason };
}

/** Frames of a stack that are kept, in characters. */
const longestStack = 16 * 1024;

/** What was thrown, with where. The value may be any, also one whose members throw. */
export function thrownError(thrown: unknown): {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
} {
  const cause = isRunFailure(thrown) && thrown.cause !== undefined ? thrown.cause : thrown;
  const message = messageOf(cause);
  try {
    if (!(cause instanceof Error)) return { name: typeof cause, message };
    const { name, stack }: { readonly name: unknown; readonly stack?: unknown } = cause;
    return {
      name: typeof name === 'string' ? name : 'Error',
      message,
      ...(typeof stack === 'string' && { stack: stack.slice(0, longestStack).toWellFormed() }),
    };
  } catch {
    return { name: 'unknown', message };
  }
}
