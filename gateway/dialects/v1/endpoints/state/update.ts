import { conflict } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { idText } from '@agent-workflow/protos/message';
import { ThreadParams, ThreadState, UpdateState } from '../../schemas/threads.ts';
import { boundedBytes } from '../common/bounded.ts';
import { checkPathThread } from '../common/path-thread.ts';
import { endpoint } from '../common/endpoint.ts';
import { fieldDefaults } from './field-defaults.ts';
import { stateReply } from './state-text.ts';
import * as examples from './examples.ts';

/** Passes the given fields through their reducers; gives the whole state. */
export const updateState = endpoint({
  name: 'updateState',
  tag: 'threads',
  summary: 'Update fields of the state',
  description:
    'Changes fields of the state and gives the whole state after that. Fields that are not named stay. 409 while a run of the thread is under way, and when the thread is no longer at the `checkpoint_id` that is given.',
  example: examples.updateState,
  method: 'POST',
  path: '/v1/threads/{thread_id}/state',
  aliases: [{ method: 'PUT', path: '/v1/threads/{thread_id}/state' }],
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: UpdateState,
  reply: ThreadState,
  handle: async ({ params, input, owner, idempotency, call: begin }, { execution }) => {
    checkPathThread(input.config.thread_id, params.thread_id);
    const stateJson = boundedBytes(input.state, ['body', 'state'], sizes.state);
    const call = begin();
    const { mode, checkpoint_id: checkpointId } = input;
    const how = {
      ...(checkpointId !== undefined && { expectedVersion: versionOf(checkpointId, params.thread_id) }),
      ...(mode === 'replace' && { replaces: true }),
    };
    const update = { owner, threadId: params.thread_id, stateJson, ...how, ...idempotency };
    const state = await execution.updateState(update, call);
    return stateReply(state, await fieldDefaults(execution, state, call));
  },
});

/** The version of a thread that its checkpoint names. */
function versionOf(checkpointId: string | number, threadId: string): number {
  const text = idText(checkpointId);
  const version = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(version)) return version;
  throw conflict(`thread "${threadId}" is not at checkpoint "${text}"`);
}
