import { ThreadDetails, ThreadParams } from '../../schemas/threads.ts';
import { endpoint } from '../common/endpoint.ts';
import { detailsOf } from './thread-text.ts';
import * as examples from './examples.ts';

export const getThread = endpoint({
  name: 'getThread',
  tag: 'threads',
  summary: 'Get a thread',
  description: 'The name, the metadata and the newest run of a thread.',
  example: examples.getThread,
  method: 'GET',
  path: '/v1/threads/{thread_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  reply: ThreadDetails,
  handle: async ({ owner, params, call }, { threads }) =>
    detailsOf(await threads.getThread({ owner, threadId: params.thread_id }, call()), owner),
});
