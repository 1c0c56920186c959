import { isOpen } from '@agent-workflow/protos/lists';
import { RunInput, StreamChunk } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import { stopOnDisconnect } from '../runs/on-disconnect.ts';
import { streamMs } from '../runs/stream.ts';
import { startRun } from '../runs/start-run.ts';
import * as examples from './examples.ts';

/** Starts a run and follows it from its first event. A disconnect of the caller does not end the run, unless `on_disconnect` is `cancel`. */
export const streamGraph = endpoint({
  name: 'streamGraph',
  tag: 'graph',
  summary: 'Run the graph and follow it as it runs',
  description:
    'Starts a run and sends its events from the first one. Server-sent events, or with `Accept: application/x-ndjson` one JSON object a line. `on_chain_end` or `error` is the last event; a stream that ends without either was cut, and `GET /v1/runs/{run_id}/stream` continues it after the last event that was seen.',
  example: examples.streamGraph,
  method: 'POST',
  path: '/v1/graph/stream',
  startsRun: true,
  answer: 'events',
  access: { resource: 'graph', action: 'stream' },
  input: RunInput,
  reply: StreamChunk,
  handle: async (request, services) => {
    const { owner } = request;
    const { runId, status } = await startRun(request, 'low', services);
    stopOnDisconnect(request, runId, services);
    request.releaseInput();
    await request.markAccepted();
    return { follow: { owner, runId, after: 0, justStarted: isOpen(status) }, call: request.call(streamMs) };
  },
});
