import { jsonObject } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/graph-facts.ts';
import * as examples from '../examples/checkpoints.ts';
import { CheckpointList, CheckpointsQuery, CheckpointParams, OneCheckpoint } from '../schemas/checkpoints.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { endpoint } from './common/endpoint.ts';
import { nextPage, pageOf } from './common/page.ts';
import { shownItems } from '../../common/shown-items.ts';
import { checkpointText } from './common/shown-items.ts';
import { stateText, truncationOf } from './state.ts';

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

/** A checkpoint and the whole state at that point. */
export const getCheckpoint = endpoint({
  name: 'getCheckpoint',
  tag: 'threads',
  summary: 'Get the state of a thread as it was at a checkpoint',
  description: 'A checkpoint and the whole state at that point. 404 for one that is no longer kept.',
  example: examples.getCheckpoint,
  method: 'GET',
  path: '/v1/threads/{thread_id}/checkpoints/{checkpoint_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: CheckpointParams,
  reply: OneCheckpoint,
  handle: async ({ owner, params, call: begin }, { threads, execution }) => {
    const { thread_id: threadId, checkpoint_id: checkpointId } = params;
    const call = begin();
    const { checkpoint, state } = await threads.getCheckpoint({ owner, threadId, checkpointId }, call);
    return jsonObject({
      checkpoint: checkpointText(checkpoint, threadId),
      state: stateText(state, await fieldDefaults(execution, state, call)),
      ...truncationOf(state),
    });
  },
});
