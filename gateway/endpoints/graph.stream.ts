import type { RunInput } from '../schemas/graph.ts';
import type { Ask, RunStream, Services } from './endpoint.ts';
import { stopWhenGone } from './on-disconnect.ts';
import { toStartRequest } from './run-request.ts';
import { isOpen } from './run-result.ts';

/** A day: a stream lasts as long as its run does, or its reader stays. */
export const streamMs = 24 * 60 * 60 * 1000;

/** Starts a run and follows it from its first event. The caller going away does not end the run, unless it asked for that. */
export async function streamGraph(ask: Ask<unknown, RunInput>, services: Services): Promise<RunStream> {
  const { owner } = ask;
  const { execution } = services;
  const { runId, status } = await execution.start(await toStartRequest(ask, 'low', services), ask.call());
  stopWhenGone(ask, runId, services);
  ask.releaseInput();
  await ask.accepted();
  return { follow: { owner, runId, after: 0, justStarted: isOpen(status) }, call: ask.call(streamMs) };
}
