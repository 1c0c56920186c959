import type { Static } from 'typebox';
import type { StopInput } from '../schemas/runs.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { threadOf } from './runs.ts';
import { getState } from './threads.state.ts';

/** Removes messages whose tool calls nobody answered, so that the conversation can go on; gives the state that is left. */
export async function fixThread(ask: Ask<unknown, Static<typeof StopInput>>, services: Services): Promise<string> {
  const thread_id = threadOf(ask.input);
  const { removedCount } = await services.threads.fixThread(
    { owner: ask.owner, threadId: thread_id, ...ask.once },
    ask.call(),
  );
  const state = await getState({ ...ask, params: { thread_id } }, services);
  const message =
    removedCount === 0 ? 'nothing was broken' : `${String(removedCount)} messages without answers removed`;
  return `{"success":true,"message":${JSON.stringify(message)},"removed_count":${String(removedCount)},${state.slice(1)}`;
}
