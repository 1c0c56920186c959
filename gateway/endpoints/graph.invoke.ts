import type { StartReply } from '@agent-workflow/protos/execution';
import type { RunInput } from '../schemas/graph.ts';
import type { JsonParts } from '../replies/json.ts';
import type { Ask, Services } from './endpoint.ts';
import { stopWhenGone } from './on-disconnect.ts';
import { toStartRequest } from './run-request.ts';
import { isOpen, resultOfRun } from './run-result.ts';

/** Runs the graph to its end and gives the result. */
export async function invokeGraph(ask: Ask<unknown, RunInput>, services: Services): Promise<string | JsonParts> {
  const { owner, call } = ask;
  const { runId, threadId, status } = await start(ask, services);
  stopWhenGone(ask, runId, services);
  ask.releaseInput();
  const result = resultOfRun({ owner, runId, threadId, justStarted: isOpen(status), call }, services);
  const [reply] = await Promise.all([result, ask.accepted()]);
  return reply;
}

/** The request is held no longer than this takes. */
const start = async (ask: Ask<unknown, RunInput>, services: Services): Promise<StartReply> =>
  services.execution.start(await toStartRequest(ask, 'full', services), ask.call());
