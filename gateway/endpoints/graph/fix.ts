import { FixedThread, StopInput } from '../../schemas/runs.ts';
import { endpoint } from '../common/services.ts';
import { readState } from '../state/get.ts';
import { threadOf } from './thread-of.ts';

/** Removes messages whose tool calls nobody answered, so that the conversation can go on; gives the state that is left. */
export const fixThread = endpoint({
  name: 'fixThread',
  tag: 'threads',
  summary: 'Remove messages whose tool calls nobody answered',
  method: 'POST',
  path: '/v1/graph/fix',
  access: { resource: 'checkpointer', action: 'write' },
  input: StopInput,
  reply: FixedThread,
  handle: async (ask, services) => {
    const { owner, input, once, call } = ask;
    const threadId = threadOf(input);
    const { removedCount } = await services.threads.fixThread({ owner, threadId, ...once }, call());
    const state = await readState(ask, threadId, services);
    const message =
      removedCount === 0 ? 'nothing was broken' : `${String(removedCount)} messages without answers removed`;
    return `{"success":true,"message":${JSON.stringify(message)},"removed_count":${String(removedCount)},${state.slice(1)}`;
  },
});
