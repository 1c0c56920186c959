import { NoInput, RunParams, StoppedRun } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import { stopMessage } from './stop-message.ts';
import * as examples from './examples.ts';

/** Stops a run. For one that has ended the reply gives its status. */
export const cancelRun = endpoint({
  name: 'cancelRun',
  tag: 'runs',
  summary: 'Stop a run at once',
  description:
    'Stops a run at once, also in the middle of a node. The steps that were committed stay. For a run that has ended the reply is its status.',
  example: examples.cancelRun,
  method: 'POST',
  path: '/v1/runs/{run_id}/cancel',
  access: { resource: 'graph', action: 'stop' },
  params: RunParams,
  input: NoInput,
  reply: StoppedRun,
  handle: async ({ owner, params, call, idempotency }, { execution }) => {
    const runId = params.run_id;
    const { status, stoppedNow } = await execution.stopRun({ owner, runId, ...idempotency }, call());
    return JSON.stringify({ success: stoppedNow, run_id: runId, status, message: stopMessage(stoppedNow, status) });
  },
});
