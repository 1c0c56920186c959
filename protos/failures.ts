import type { FailureCode } from '@agent-workflow/kit/errors';
import type { RunError } from './threads.ts';

/** The codes of failed runs as callers read them: the data of an event reaches them unchanged. */
const spelled: Readonly<Record<FailureCode, string>> = {
  NodeFailed: 'NODE_ERROR',
  GraphFailed: 'GRAPH_ERROR',
  BadRequest: 'BAD_REQUEST',
  Conflict: 'CONFLICT',
  Invalid: 'VALIDATION_ERROR',
  Internal: 'INTERNAL_ERROR',
};

/** A failure as it is in the data of the run's last event. */
export const toEventError = (error: RunError): Omit<RunError, 'code'> & { readonly code: string } => ({
  ...error,
  code: spelled[error.code],
});
