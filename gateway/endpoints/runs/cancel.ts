import { NoInput, RunParams, StoppedRun } from '../../schemas/runs.ts';
import { endpoint } from '../common/services.ts';
import { stopMessage } from './stop-message.ts';

/** Ends a run; one that has ended says how. */
export const cancelRun = endpoint({
  name: 'cancelRun',
  tag: 'runs',
  summary: 'Stop a run at once',
  method: 'POST',
  path: '/v1/runs/{run_id}/cancel',
  access: { resource: 'graph', action: 'stop' },
  params: RunParams,
  input: NoInput,
  reply: StoppedRun,
  handle: async ({ owner, params, call, once }, { execution }) => {
    const runId = params.run_id;
    const { status, stoppedNow } = await execution.stopRun({ owner, runId, ...once }, call());
    return JSON.stringify({ success: stoppedNow, run_id: runId, status, message: stopMessage(stoppedNow, status) });
  },
});
