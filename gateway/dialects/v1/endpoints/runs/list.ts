import { RunList, RunsQuery } from '../../schemas/runs.ts';
import { ThreadParams } from '../../schemas/threads.ts';
import { pageOf } from '../common/page.ts';
import { endpoint } from '../common/endpoint.ts';
import { toRunItems } from './run-item.ts';
import * as examples from './examples.ts';

/** The runs of a thread, newest first. */
export const listRuns = endpoint({
  name: 'listRuns',
  tag: 'runs',
  summary: 'List the runs of a thread, newest first',
  description: 'The runs of a thread, newest first, in pages.',
  example: examples.listRuns,
  method: 'GET',
  path: '/v1/threads/{thread_id}/runs',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  input: RunsQuery,
  reply: RunList,
  handle: async ({ owner, params, input, call }, { threads, log }) => {
    const { runs, cursor } = await threads.listRuns({ owner, threadId: params.thread_id, ...pageOf(input) }, call());
    return JSON.stringify({ runs: toRunItems(runs, log), has_more: cursor !== undefined, cursor });
  },
});
