import type { EndpointRequest } from '../../../http/endpoint.ts';
import { fieldDefaults } from '../../common/field-defaults.ts';
import type { Services } from '../../common/services.ts';
import { isEmptyState, valuesText } from '../out/values.ts';

/** The values of a thread as it stands, as JSON text; `null` where it has none yet. */
export async function readValues(
  { owner, call: begin }: Pick<EndpointRequest, 'owner' | 'call'>,
  threadId: string,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<string> {
  const call = begin();
  const state = await threads.getState({ owner, threadId }, call);
  return isEmptyState(state) ? 'null' : valuesText(state, await fieldDefaults(execution, state, call));
}
