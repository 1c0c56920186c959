import { OwnRunList, OwnRunsQuery } from '../../schemas/runs.ts';
import { pageOf } from '../common/page.ts';
import { endpoint } from '../common/endpoint.ts';
import { toRunItems } from './run-item.ts';
import * as examples from './examples.ts';

/** The runs of the owner, whatever their threads, newest first. */
export const listOwnRuns = endpoint({
  name: 'listOwnRuns',
  tag: 'runs',
  summary: 'List the runs of all threads, newest first',
  description:
    'The runs of the owner, newest first by the time of their acceptance, in pages; `status` and `agent` select some of them. A page reads at most 2,000 runs. Where few of those match, it holds fewer than `limit`, or none, with `has_more: true`: continue with `cursor` until `has_more` is `false`.',
  example: examples.listOwnRuns,
  method: 'GET',
  path: '/v1/runs',
  access: { resource: 'checkpointer', action: 'read' },
  input: OwnRunsQuery,
  reply: OwnRunList,
  handle: async ({ owner, input, call }, { threads, log }) => {
    const { limit, cursor: after } = pageOf({ ...input, offset: 0 });
    const { status: statuses = [], agent } = input;
    const request = {
      ...{ owner, limit, statuses },
      ...(agent !== undefined && { agent }),
      ...(after !== undefined && { cursor: after }),
    };
    const { runs, cursor } = await threads.listOwnRuns(request, call());
    return JSON.stringify({ runs: toRunItems(runs, log), has_more: cursor !== undefined, cursor });
  },
});
