import { failureCodes, type FailureCode } from '@agent-workflow/kit/errors';
import { isIn } from './lists.ts';
import type { RunEnd, RunError } from './threads.ts';

/**
 * The codes of failed runs as the version before this one wrote them, into records and between processes. Events say them to this
 * day, because their data reaches the callers as it is.
 */
const spelled: Readonly<Record<FailureCode, string>> = {
  NodeFailed: 'NODE_ERROR',
  GraphFailed: 'GRAPH_ERROR',
  BadRequest: 'BAD_REQUEST',
  Conflict: 'CONFLICT',
  Invalid: 'VALIDATION_ERROR',
  Internal: 'INTERNAL_ERROR',
};

const bySpelling = new Map(failureCodes.map((code) => [spelled[code], code]));

/** The code that a text stands for, whichever version wrote it; `undefined` for one that neither knows. */
export const toFailureCode = (text: string): FailureCode | undefined =>
  isIn(failureCodes, text) ? text : bySpelling.get(text);

/** The end of a run as it stands on record: an earlier version of the service may have written it. */
export function toRunEnd(stored: RunEnd): RunEnd {
  const { error } = stored;
  if (!error) return stored;
  return { ...stored, error: { ...error, code: toFailureCode(error.code) ?? 'Internal' } };
}

/** A failure as the data of its run's last event says it. */
export const toEventError = (error: RunError): Readonly<Record<string, unknown>> => ({
  ...error,
  code: spelled[error.code],
});
