import { jsonObject } from '../../../../http/json.ts';
import { CheckpointList, CheckpointsQuery } from '../../schemas/checkpoints.ts';
import { ThreadParams } from '../../schemas/threads.ts';
import { nextPage, pageOf } from '../common/page.ts';
import { endpoint } from '../common/endpoint.ts';
import { shownItems } from '../common/shown-items.ts';
import { checkpointText } from './checkpoint-text.ts';
import * as examples from './examples.ts';

/** The checkpoints of a thread, newest first. */
export const listCheckpoints = endpoint({
  name: 'listCheckpoints',
  tag: 'threads',
  summary: 'List the checkpoints of a thread, newest first',
  description: 'The versions of a thread that can be read and forked, newest first, in pages.',
  example: examples.listCheckpoints,
  method: 'GET',
  path: '/v1/threads/{thread_id}/checkpoints',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  input: CheckpointsQuery,
  reply: CheckpointList,
  handle: async ({ owner, params, input, call }, { threads, log }) => {
    const threadId = params.thread_id;
    const page = await threads.listCheckpoints({ owner, threadId, ...pageOf(input) }, call());
    const shown = shownItems(page.checkpoints, {
      kind: 'checkpoint',
      show: (checkpoint) => checkpointText(checkpoint, threadId),
      idsOf: ({ checkpointId }) => ({ checkpointId, threadId }),
      log,
    });
    return jsonObject({ checkpoints: `[${shown.join(',')}]`, ...nextPage(page.cursor) });
  },
});
