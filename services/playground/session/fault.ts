import { RequestError } from '@agent-workflow/client';

/** A failure in words: what happened, whose fault it is, what to do. */
interface Fault {
  readonly what: string;
  readonly advice: string;
  /** The id that the operator's log has. */
  readonly requestId?: string;
  /** Whether the same request may succeed later. */
  readonly canRetry: boolean;
}

/** Says of a failure what a reader can make of it. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof RequestError)) {
    const what = error instanceof Error ? error.message : String(error);
    return { what, advice: 'The page itself failed. Try again, or load it again.', canRetry: true };
  }
  const { status, requestId } = error;
  const places = error.details.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  const what = [error.message, ...places.filter((place) => !error.message.includes(place))].join('; ');
  return { what, ...adviceOf(status), ...(requestId !== undefined && { requestId }) };
}

function adviceOf(status: number): Pick<Fault, 'advice' | 'canRetry'> {
  if (status === 0)
    return { advice: 'The service could not be reached. It is tried again when you ask.', canRetry: true };
  if (status === 401) return { advice: 'The service wants another token. Sign in again.', canRetry: true };
  if (status === 403) return { advice: 'Your token may not do this. Ask whoever runs the service.', canRetry: true };
  if (status === 404) return { advice: 'It may be deleted, or it is not yours.', canRetry: false };
  if (status === 429) return { advice: 'Too much was asked in a short time. Wait a moment.', canRetry: true };
  if (status < 500)
    return { advice: 'The service did not take the request. What was sent must change.', canRetry: false };
  return { advice: 'The service failed. If it stays so, give the request id to whoever runs it.', canRetry: true };
}
