import { isDeepStrictEqual } from 'node:util';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import type { Services } from '../../common/services.ts';
import { stateOf } from './beginning.ts';
import type { RunAgentInput } from '../schemas/run-input.ts';

/**
 * The fields that the page has changed: what the thread has already is not sent to the reducers of the graph again.
 * @throws Invalid
 */
export async function changedState(
  { owner, call, input }: EndpointRequest<unknown, RunAgentInput>,
  isNew: boolean,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<Readonly<Record<string, unknown>>> {
  const { threadId, state } = input;
  if (state === undefined || state === null) return {};
  if (typeof state !== 'object' || Array.isArray(state))
    throw invalidAt(['body', 'state'], 'must be an object: the fields of the graph');
  const given = Object.entries(state);
  if (given.length === 0) return {};
  const stored = isNew ? undefined : await undefinedIfNotFound(threads.getState({ owner, threadId }, call()));
  const { fields } = stored ? await stateOf(stored, execution, call()) : { fields: {} as Record<string, unknown> };
  return Object.fromEntries(
    given.filter(([name, value]) => !Object.hasOwn(fields, name) || !isDeepStrictEqual(fields[name], value)),
  );
}
