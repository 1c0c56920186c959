import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import { InvokeResult, RunInput } from '../../schemas/graph.ts';
import type { Services } from '../../../common/services.ts';
import { endpoint } from '../common/endpoint.ts';
import { stopOnDisconnect } from '../runs/on-disconnect.ts';
import { startRun } from '../runs/start-run.ts';
import { resultOfRun } from '../runs/run-result.ts';
import * as examples from './examples.ts';

/** Starts a run, waits for its end and gives the result. */
export const invokeGraph = endpoint({
  name: 'invokeGraph',
  tag: 'graph',
  summary: 'Run the graph and get its result',
  description:
    'Starts a run, waits for its end and gives the result. A run that does not end within `INVOKE_TIMEOUT_MS` (default 5 minutes) is 504 and goes on. The run also goes on when the caller disconnects, unless `config.on_disconnect` is `cancel`. A run that ends as `interrupted` asks for something: answer its tool calls by a message of role `tool`, or its questions by `resume`, on the same thread.',
  example: examples.invokeGraph,
  method: 'POST',
  path: '/v1/graph/invoke',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  input: RunInput,
  reply: InvokeResult,
  handle: async (request, services) => {
    const { owner, call } = request;
    const { runId, threadId, status, end } = await start(request, services);
    stopOnDisconnect(request, runId, services);
    request.releaseInput();
    const result = resultOfRun({ owner, runId, threadId, justStarted: isOpen(status), end, call }, services);
    const [reply] = await Promise.all([result, request.markAccepted()]);
    return reply;
  },
});

/** A function of its own, so that the messages of the request can be freed while the run is waited for. */
const start = (request: EndpointRequest<unknown, RunInput>, services: Services): Promise<StartReply> =>
  startRun(request, 'full', services, {
    // A caller that disconnects meanwhile would not be seen to stop the run.
    ...(request.input.config?.on_disconnect !== 'cancel' && { awaitEndMs }),
  });

/** Most runs of a short graph end within this time, in milliseconds, and take one call less. */
const awaitEndMs = 200;
