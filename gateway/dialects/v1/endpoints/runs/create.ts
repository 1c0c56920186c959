import { RunInput } from '../../schemas/graph.ts';
import { AcceptedRun } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import { startRun } from './start-run.ts';
import * as examples from './examples.ts';

/** Accepts a run and answers at once: the run is on record and goes on without its caller. */
export const createRun = endpoint({
  name: 'createRun',
  tag: 'runs',
  summary: 'Accept a run and answer before it ends',
  description:
    'Puts a run on record and answers before it has ended. `GET /v1/runs/{run_id}`, `/wait` and `/stream` show what becomes of it.',
  example: examples.createRun,
  method: 'POST',
  path: '/v1/runs',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  status: 202,
  input: RunInput,
  reply: AcceptedRun,
  handle: async (request, services) => {
    const { runId, threadId, status } = await startRun(request, 'low', services);
    return JSON.stringify({ run_id: runId, thread_id: threadId, status });
  },
});
