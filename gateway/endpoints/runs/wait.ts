import { InvokeResult } from '../../schemas/graph.ts';
import { RunParams } from '../../schemas/runs.ts';
import { endpoint } from '../common/services.ts';
import { resultOfRun } from './run-result.ts';

/** The result that invoke would have given, as soon as the run has ended. */
export const waitForRun = endpoint({
  name: 'waitForRun',
  tag: 'runs',
  summary: 'Get the result of a run as soon as it has ended',
  method: 'GET',
  path: '/v1/runs/{run_id}/wait',
  access: { resource: 'graph', action: 'read' },
  params: RunParams,
  reply: InvokeResult,
  handle: async ({ owner, params, call }, services) => {
    const runId = params.run_id;
    const { threadId } = await services.threads.getRun({ owner, runId }, call());
    return resultOfRun({ owner, runId, threadId, call }, services);
  },
});
