import { jsonObject } from '../../../../http/json.ts';
import { ThreadList, ThreadsQuery } from '../../schemas/threads.ts';
import { nextPage, pageOf } from '../common/page.ts';
import { endpoint } from '../common/endpoint.ts';
import { shownItems } from '../common/shown-items.ts';
import { threadText } from './thread-text.ts';
import * as examples from './examples.ts';

/** The owner's threads, most recently updated first. */
export const listThreads = endpoint({
  name: 'listThreads',
  tag: 'threads',
  summary: 'List threads, most recently updated first',
  description: 'The threads of the owner, most recently updated first, in pages.',
  example: examples.listThreads,
  method: 'GET',
  path: '/v1/threads',
  access: { resource: 'checkpointer', action: 'read' },
  input: ThreadsQuery,
  reply: ThreadList,
  handle: async ({ input, owner, call }, { threads, log }) => {
    const page = await threads.listThreads({ owner, ...pageOf(input) }, call());
    const shown = shownItems(page.threads, {
      kind: 'thread',
      show: (thread) => threadText(thread, owner),
      idsOf: ({ threadId }) => ({ threadId }),
      log,
    });
    return jsonObject({ threads: `[${shown.join(',')}]`, ...nextPage(page.cursor) });
  },
});
