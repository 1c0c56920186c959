import { InvokeResult } from '../../schemas/graph.ts';
import { RunParams } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import { resultOfRun } from './run-result.ts';
import * as examples from './examples.ts';

/** Waits for the end of a run and gives the result as invoke does. */
export const waitForRun = endpoint({
  name: 'waitForRun',
  tag: 'runs',
  summary: 'Get the result of a run as soon as it has ended',
  description:
    'Waits for the end of a run and gives its result, as invoke does. A run that does not end within `INVOKE_TIMEOUT_MS` is 504 and goes on.',
  example: examples.waitForRun,
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
