import { jsonObject } from '../../../../http/json.ts';
import { CheckpointParams, OneCheckpoint } from '../../schemas/checkpoints.ts';
import { endpoint } from '../common/endpoint.ts';
import { fieldDefaults } from '../state/field-defaults.ts';
import { stateText, truncationOf } from '../state/state-text.ts';
import { checkpointText } from './checkpoint-text.ts';
import * as examples from './examples.ts';

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
