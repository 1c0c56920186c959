import { Run, RunParams } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import { toRunItem } from './run-item.ts';
import * as examples from './examples.ts';

export const getRun = endpoint({
  name: 'getRun',
  tag: 'runs',
  summary: 'Get a run',
  description: 'Where a run stands, its tokens, and why it failed.',
  example: examples.getRun,
  method: 'GET',
  path: '/v1/runs/{run_id}',
  access: { resource: 'graph', action: 'read' },
  params: RunParams,
  reply: Run,
  handle: async ({ owner, params, call }, { threads }) =>
    JSON.stringify(toRunItem(await threads.getRun({ owner, runId: params.run_id }, call()))),
});
