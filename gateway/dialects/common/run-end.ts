import { isServiceError, timeout, type ServiceError } from '@agent-workflow/kit/errors';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndpointRequest } from '../../http/endpoint.ts';
import type { Services } from './services.ts';

/** The run whose end the caller waits for. */
export interface AwaitedRun extends Pick<EndpointRequest, 'owner' | 'call'> {
  readonly runId: string;
  readonly threadId: string;
  /** Whether this request has started it. */
  readonly justStarted?: boolean;
  /** Its last event, where that is known. */
  readonly end?: RunEvent | undefined;
}

/** The last event of a run, when it has ended. @throws Timeout after `INVOKE_TIMEOUT_MS`; the run goes on. */
export async function endOfRun(
  run: AwaitedRun,
  { execution, config }: Pick<Services, 'execution' | 'config'>,
): Promise<RunEvent> {
  const { owner, runId, justStarted = false, end, call } = run;
  if (end) return end;
  try {
    return await execution.wait({ owner, runId, justStarted }, call(config.INVOKE_TIMEOUT_MS));
  } catch (error) {
    throw isServiceError(error, 'Timeout') ? tooLate(run, config.INVOKE_TIMEOUT_MS) : error;
  }
}

const tooLate = ({ runId, threadId }: AwaitedRun, ms: number): ServiceError =>
  timeout(`run "${runId}" of thread "${threadId}" did not end within ${String(ms)} ms and goes on`);
