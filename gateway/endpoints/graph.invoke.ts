import type { RunInput } from '../schemas/graph.ts';
import type { JsonParts } from '../http/json.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { stopWhenGone } from './on-disconnect.ts';
import { toStartRequest } from './run-request.ts';
import { isOpen, resultOfRun } from './run-result.ts';

/** Runs the graph to its end and gives the result. */
export async function invokeGraph(ask: Ask<unknown, RunInput>, services: Services): Promise<string | JsonParts> {
  const { owner, call } = ask;
  const request = await toStartRequest(ask, 'full', services);
  const { runId, threadId, status } = await services.execution.start(request, call());
  stopWhenGone(ask, runId, services);
  const result = resultOfRun({ owner, runId, threadId, justStarted: isOpen(status), call }, services);
  const [reply] = await Promise.all([result, ask.accepted()]);
  return reply;
}
