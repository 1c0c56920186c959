import { FixedThread, StopInput } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import { readState } from '../state/get.ts';
import { threadOf } from './thread-of.ts';
import * as examples from './examples.ts';

/** Removes messages whose tool calls were never answered, so that the conversation can go on; gives the state after that. */
export const fixThread = endpoint({
  name: 'fixThread',
  tag: 'threads',
  summary: 'Remove messages whose tool calls nobody answered',
  description:
    'Removes messages of the assistant whose tool calls nobody answered, with the answers that they have, so that the conversation can go on.',
  example: examples.fixThread,
  method: 'POST',
  path: '/v1/graph/fix',
  access: { resource: 'checkpointer', action: 'write' },
  input: StopInput,
  reply: FixedThread,
  handle: async (request, services) => {
    const { owner, input, idempotency, call } = request;
    const threadId = threadOf(input);
    const { removedCount } = await services.threads.fixThread({ owner, threadId, ...idempotency }, call());
    const state = await readState(request, threadId, services);
    const removed = `${String(removedCount)} ${removedCount === 1 ? 'message' : 'messages'} without answers removed`;
    const message = removedCount === 0 ? 'nothing was broken' : removed;
    return `{"success":true,"message":${JSON.stringify(message)},"removed_count":${String(removedCount)},${state.slice(1)}`;
  },
});
