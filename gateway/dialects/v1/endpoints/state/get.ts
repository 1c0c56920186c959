import type { EndpointRequest } from '../../../../http/endpoint.ts';
import { ThreadParams, ThreadState } from '../../schemas/threads.ts';
import type { Services } from '../../../common/services.ts';
import { endpoint } from '../common/endpoint.ts';
import { fieldDefaults } from './field-defaults.ts';
import { stateReply } from './state-text.ts';
import * as examples from './examples.ts';

/** The whole state: the stored fields, and the defaults of the others. */
export const getState = endpoint({
  name: 'getState',
  tag: 'threads',
  summary: 'Get the state of a thread',
  description: 'Every field of the state, with its default where nothing was stored.',
  example: examples.getState,
  method: 'GET',
  path: '/v1/threads/{thread_id}/state',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  reply: ThreadState,
  handle: (request, services) => readState(request, request.params.thread_id, services),
});

/** The whole state of a thread as a reply. */
export async function readState(
  { owner, call: begin }: Pick<EndpointRequest, 'owner' | 'call'>,
  threadId: string,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<string> {
  const call = begin();
  const state = await threads.getState({ owner, threadId }, call);
  return stateReply(state, await fieldDefaults(execution, state, call));
}
