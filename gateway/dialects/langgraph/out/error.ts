import { toEventError } from '@agent-workflow/protos/failures';
import type { RunError } from '@agent-workflow/protos/threads';

/** Why a run failed, as LangGraph's clients read it: the class of the error, and a text for callers. */
interface ShownError {
  readonly error: string;
  readonly message: string;
}

/** An error of the record; without a class the code stands in its place, as `/v1` says it. */
export const toError = (error: RunError): ShownError => fromEventError(toEventError(error));

/** The error in the last event of a run. */
interface EventError {
  readonly code: string;
  readonly message: string;
  readonly thrown?: string;
}

export const fromEventError = ({ code, message, thrown }: EventError): ShownError => ({
  error: thrown ?? code,
  message,
});

/** An error as a task has it: one text. */
export const errorText = ({ error, message }: ShownError): string => `${error}(${JSON.stringify(message)})`;
