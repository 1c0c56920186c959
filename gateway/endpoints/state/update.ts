import { sizes } from '@agent-workflow/kit/sizes';
import { ThreadParams, ThreadState, UpdateState } from '../../schemas/threads.ts';
import { boundedBytes } from '../common/bounded.ts';
import { checkPathThread } from '../common/path-thread.ts';
import { endpoint } from '../common/services.ts';
import { fieldDefaults } from './field-defaults.ts';
import { stateReply } from './state-text.ts';
import * as examples from './examples.ts';

/** Passes the given fields through their reducers; gives the whole state. */
export const updateState = endpoint({
  name: 'updateState',
  tag: 'threads',
  summary: 'Update fields of the state',
  description:
    'Changes fields of the state and gives the whole state after that. Fields that are not named stay. 409 while a run of the thread is under way.',
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
    const state = await execution.updateState({ owner, threadId: params.thread_id, stateJson, ...idempotency }, call);
    return stateReply(state, await fieldDefaults(execution, state, call));
  },
});
