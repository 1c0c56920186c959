import type { Ask } from '../../http/endpoint.ts';
import { ThreadParams, ThreadState } from '../../schemas/threads.ts';
import { endpoint, type Services } from '../common/services.ts';
import { fieldDefaults } from './field-defaults.ts';
import { stateReply } from './state-text.ts';

/** The whole state: what is stored, over the defaults of the graph's fields. */
export const getState = endpoint({
  name: 'getState',
  tag: 'threads',
  summary: 'Get the state of a thread',
  method: 'GET',
  path: '/v1/threads/{thread_id}/state',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  reply: ThreadState,
  handle: (ask, services) => readState(ask, ask.params.thread_id, services),
});

/** The reply that tells a thread's whole state. */
export async function readState(
  { owner, call: begin }: Pick<Ask, 'owner' | 'call'>,
  threadId: string,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<string> {
  const call = begin();
  const state = await threads.getState({ owner, threadId }, call);
  return stateReply(state, await fieldDefaults(execution, call));
}
