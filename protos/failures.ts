import { failureCodes, type FailureCode } from '@agent-workflow/kit/errors';
import { isIn } from './lists.ts';
import type { RunEnd, RunError } from './threads.ts';

/**
 * The codes of failed runs as the version before this one wrote them into records and sent them between processes. Events still have
 * them, because the data of an event reaches the caller unchanged.
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

/** The code of a text that either version wrote; `undefined` for a text that neither knows. */
export const toFailureCode = (text: string): FailureCode | undefined =>
  isIn(failureCodes, text) ? text : bySpelling.get(text);

/** The end of a run on record, which an earlier version of the service may have written. */
export function toRunEnd(stored: RunEnd): RunEnd {
  const { error } = stored;
  if (!error) return stored;
  return { ...stored, error: { ...error, code: toFailureCode(error.code) ?? 'Internal' } };
}

/** A failure as it is in the data of the run's last event. */
export const toEventError = (error: RunError): Readonly<Record<string, unknown>> => ({
  ...error,
  code: spelled[error.code],
});
