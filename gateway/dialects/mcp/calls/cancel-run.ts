import { isOpen } from '@agent-workflow/protos/lists';
import type { Run, Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonBytes, jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { fieldsOf } from '../wire/fields.ts';

/** Where a thread notes the run whose questions were given up. */
const cancelledMark = 'mcp_cancelled';

/** Whether a run that has asked was cancelled: its questions take no answer here. */
export const isCancelled = (runId: string, { metadataJson }: Pick<Thread, 'metadataJson'>): boolean =>
  metadataJson !== undefined && fieldsOf(JSON.parse(jsonText(metadataJson)))[cancelledMark] === runId;

/** Stops a run. One that has asked has ended: its thread notes that it was cancelled. One that has ended otherwise stays as it is. */
export async function cancelRun(
  { runId, threadId, status, end, resumedBy }: Run,
  { owner, call, idempotency }: Pick<EndpointRequest, 'owner' | 'call' | 'idempotency'>,
  { execution, threads }: Pick<Services, 'execution' | 'threads'>,
): Promise<void> {
  if (isOpen(status)) {
    await execution.stopRun({ owner, runId, ...idempotency }, call());
    return;
  }
  if (end?.interruptsJson === undefined || resumedBy !== undefined) return;
  const metadataJson = jsonBytes({ [cancelledMark]: runId });
  const kept = { dropName: false, dropMetadata: false, dropTtl: false };
  await threads.updateThread({ owner, threadId, metadataJson, ...kept, ...idempotency }, call());
}
