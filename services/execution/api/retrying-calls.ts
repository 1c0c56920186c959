import { canBeRetried } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import { within, type Call } from '@agent-workflow/protos/call';
import type { AgentCalls } from '@agent-workflow/protos/threads';
import { unknownCallerOf } from './registration.ts';

interface RetryingOptions {
  /** Called with the failure of each attempt that another follows. */
  readonly onRetry: (error: unknown) => void;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
  /** How long each call is made again, in milliseconds; two minutes when absent. */
  readonly forMs?: number;
}

const usualForMs = 2 * 60_000;
const attemptMs = 30_000;

/**
 * The calls of a registration. Each is made again while the threads service or its store is unavailable, or too slow, or the workers of a
 * pool call too often. A registration that took effect without an answer changes nothing the second time.
 */
export function retryingCalls(
  threads: AgentCalls,
  { onRetry, signal, forMs = usualForMs }: RetryingOptions,
): AgentCalls {
  const retrying =
    <Q, R>(method: (request: Q, call: Call) => Promise<R>) =>
    (request: Q): Promise<R> =>
      retry(() => method(request, within(attemptMs, signal)), {
        ...serverAway,
        signal,
        deadline: Date.now() + forMs,
        mayHelp: (error) => canBeRetried(error) && unknownCallerOf(error) === undefined,
        onRetry,
      });
  return {
    ...threads,
    getRegisteredAgent: retrying(threads.getRegisteredAgent),
    registerRevision: retrying(threads.registerRevision),
  };
}
