import { isServiceError, ServiceError, timeout, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import { partsOfData } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { contextTooLarge } from '@agent-workflow/protos/refusals';
import { errorOf } from '../replies/errors.ts';
import { located } from '../../../http/fields.ts';
import { jsonText, type JsonParts } from '../../../http/json.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';

/** The run whose result the caller waits for. */
interface AwaitedRun extends Pick<EndpointRequest, 'owner' | 'call'> {
  readonly runId: string;
  readonly threadId: string;
  /** Whether this request has started it. */
  readonly justStarted?: boolean;
  /** Its last event, where that is known. */
  readonly end?: RunEvent | undefined;
}

/** The result of a run when it has ended. @throws Timeout after `INVOKE_TIMEOUT_MS`; the run goes on. */
export async function resultOfRun(run: AwaitedRun, { execution, config }: Services): Promise<string | JsonParts> {
  const { owner, runId, justStarted = false, end, call } = run;
  if (end) return resultOf(end);
  try {
    return resultOf(await execution.wait({ owner, runId, justStarted }, call(config.INVOKE_TIMEOUT_MS)));
  } catch (error) {
    throw isServiceError(error, 'Timeout') ? tooLate(run, config.INVOKE_TIMEOUT_MS) : error;
  }
}

const tooLate = ({ runId, threadId }: AwaitedRun, ms: number): ServiceError =>
  timeout(`run "${runId}" of thread "${threadId}" did not end within ${String(ms)} ms and goes on`);

function resultOf(end: RunEvent): string | JsonParts {
  if (end.kind === 'on_chain_end') {
    const parts = partsOfData(end);
    return parts.length === 1 && parts[0] ? jsonText(parts[0]) : { json: parts };
  }
  const data = JSON.parse(jsonText(end.data)) as Failure;
  const code = errorOf(data.code);
  throw new ServiceError(code, data.message, { details: detailsOf(code, data) });
}

/** The data of the event `error`. */
interface Failure {
  readonly code: string;
  readonly message: string;
  readonly node?: string;
  readonly reason?: string;
  readonly parameter?: string;
}

/** Names the node that failed, or the field for which a queued run was refused at its claim. */
function detailsOf(code: ErrorCode, { message: msg, node, reason, parameter }: Failure): ErrorDetail[] {
  if (node !== undefined)
    return [located({ loc: ['graph', 'nodes', node], msg, type: 'node_error', reason, parameter })];
  return code === 'Invalid' ? [{ field: ['messages'], msg, type: contextTooLarge }] : [];
}
