import type { StartReply } from '@agent-workflow/protos/execution';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { RunOrder } from '../../common/run-order.ts';
import type { Services } from '../../common/services.ts';
import { stopOnDisconnect } from '../../common/start-run.ts';
import { hasStarted } from '../replies/refusal.ts';

/** Notes that a request has started its run: what is refused from now on must not be sent again, and the input is needed no longer. */
export async function noteStarted(
  request: EndpointRequest,
  { order, runId }: { readonly order: RunOrder } & Pick<StartReply, 'runId'>,
  services: Services,
): Promise<void> {
  request.addReplyMetadata(hasStarted);
  stopOnDisconnect({ ...request, input: order }, runId, services);
  request.releaseInput();
  await request.markAccepted();
}
