import { faultOf } from '../../session/fault.ts';
import { CopyId } from './copy-id.tsx';

interface FailureProps {
  readonly error: unknown;
  /** Does again what failed. The button is there only where that may help. */
  readonly retry?: () => void;
}

/** Stands where the content would be: what happened, whose fault it is, what to do, and the request id to copy. */
export function Failure({ error, retry }: FailureProps) {
  const { what, advice, requestId, canRetry } = faultOf(error);
  return (
    <div class="failure" role="alert">
      <p class="failure-what">{what}</p>
      <p>{advice}</p>
      <div class="failure-ways">
        {retry !== undefined && canRetry && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
        {requestId !== undefined && (
          <span class="hint">
            Request <CopyId id={requestId} what="the request id" />
          </span>
        )}
      </div>
    </div>
  );
}
