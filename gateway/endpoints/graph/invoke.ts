import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Ask } from '../../http/endpoint.ts';
import { InvokeResult, RunInput } from '../../schemas/graph.ts';
import { endpoint, type Services } from '../common/services.ts';
import { stopWhenGone } from '../runs/on-disconnect.ts';
import { toStartRequest } from '../runs/run-request.ts';
import { resultOfRun } from '../runs/run-result.ts';

/** Runs the graph to its end and gives the result. */
export const invokeGraph = endpoint({
  name: 'invokeGraph',
  tag: 'graph',
  summary: 'Run the graph and get its result',
  method: 'POST',
  path: '/v1/graph/invoke',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  input: RunInput,
  reply: InvokeResult,
  handle: async (ask, services) => {
    const { owner, call } = ask;
    const { runId, threadId, status } = await start(ask, services);
    stopWhenGone(ask, runId, services);
    ask.releaseInput();
    const result = resultOfRun({ owner, runId, threadId, justStarted: isOpen(status), call }, services);
    const [reply] = await Promise.all([result, ask.accepted()]);
    return reply;
  },
});

/** The request is held no longer than this takes. */
const start = async (ask: Ask<unknown, RunInput>, services: Services): Promise<StartReply> =>
  services.execution.start(await toStartRequest(ask, 'full', services), ask.call());
