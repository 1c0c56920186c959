import { RunInput } from '../../schemas/graph.ts';
import { AcceptedRun } from '../../schemas/runs.ts';
import { endpoint } from '../common/services.ts';
import { toStartRequest } from './run-request.ts';

/** Accepts a run and says so at once: it is on record, and goes on without its caller. */
export const createRun = endpoint({
  name: 'createRun',
  tag: 'runs',
  summary: 'Accept a run and answer before it ends',
  method: 'POST',
  path: '/v1/runs',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  status: 202,
  input: RunInput,
  reply: AcceptedRun,
  handle: async (ask, services) => {
    const request = await toStartRequest(ask, 'low', services);
    const { runId, threadId, status } = await services.execution.start(request, ask.call());
    return JSON.stringify({ run_id: runId, thread_id: threadId, status });
  },
});
