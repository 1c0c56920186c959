import type { StartReply, StartRequest } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import type { RunInput } from '../../schemas/graph.ts';
import type { Services } from '../../../common/services.ts';
import { atPlaceOfTool } from './declared-tools.ts';
import { toStartRequest } from './run-request.ts';

/** Starts the run that the body of invoke, stream and `POST /v1/runs` asks for. */
export async function startRun(
  request: EndpointRequest<unknown, RunInput>,
  granularity: Granularity,
  services: Services,
  more: Partial<StartRequest> = {},
): Promise<StartReply> {
  const start = { ...(await toStartRequest(request, granularity, services)), ...more };
  const { tools, config } = request.input;
  try {
    return await services.execution.start(start, request.call());
  } catch (error) {
    throw atPlaceOfTool(error, { ...(tools && { tools }), ...(config && { config }) });
  }
}
