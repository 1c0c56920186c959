import { isOpen } from '@agent-workflow/protos/lists';
import { RunInput, StreamChunk } from '../../schemas/graph.ts';
import { endpoint } from '../common/services.ts';
import { stopWhenGone } from '../runs/on-disconnect.ts';
import { streamMs } from '../runs/stream.ts';
import { toStartRequest } from '../runs/run-request.ts';

/** Starts a run and follows it from its first event. The caller going away does not end the run, unless it asked for that. */
export const streamGraph = endpoint({
  name: 'streamGraph',
  tag: 'graph',
  summary: 'Run the graph and follow it as it runs',
  method: 'POST',
  path: '/v1/graph/stream',
  startsRun: true,
  answer: 'events',
  access: { resource: 'graph', action: 'stream' },
  input: RunInput,
  reply: StreamChunk,
  handle: async (ask, services) => {
    const { owner } = ask;
    const { execution } = services;
    const { runId, status } = await execution.start(await toStartRequest(ask, 'low', services), ask.call());
    stopWhenGone(ask, runId, services);
    ask.releaseInput();
    await ask.accepted();
    return { follow: { owner, runId, after: 0, justStarted: isOpen(status) }, call: ask.call(streamMs) };
  },
});
