import { ServiceError, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import { partsOfData } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { contextTooLarge } from '@agent-workflow/protos/refusals';
import { errorOf } from '../replies/errors.ts';
import { located } from '../../../http/fields.ts';
import { jsonText, type JsonParts } from '../../../http/json.ts';
import { endOfRun, type AwaitedRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';

/** The result of a run when it has ended. @throws Timeout after `INVOKE_TIMEOUT_MS`; the run goes on. */
export const resultOfRun = async (run: AwaitedRun, services: Services): Promise<string | JsonParts> =>
  resultOf(await endOfRun(run, services));

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
