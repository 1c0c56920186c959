import { isDeepStrictEqual } from 'node:util';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { graphFacts } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import { stateOf } from './beginning.ts';
import type { RunAgentInput } from '../schemas/run-input.ts';

/**
 * The fields that the page has changed: what the thread has already is not sent to the reducers of the graph again. Fields that callers only read are left
 * out: the page sends the whole state, as it saw that.
 * @throws Invalid
 */
export async function changedState(
  { owner, call, input, params }: EndpointRequest<{ readonly agent: string }, RunAgentInput>,
  isNew: boolean,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<Readonly<Record<string, unknown>>> {
  const { threadId, state } = input;
  if (state === undefined || state === null) return {};
  if (typeof state !== 'object' || Array.isArray(state))
    throw invalidAt(['body', 'state'], 'must be an object: the fields of the graph');
  const all = Object.entries(state);
  if (all.length === 0) return {};
  const { readOnly } = await graphFacts(execution, { agent: params.agent }, call());
  const given = all.filter(([name]) => !readOnly.has(name));
  const stored = isNew ? undefined : await undefinedIfNotFound(threads.getState({ owner, threadId }, call()));
  const { fields } = stored ? await stateOf(stored, execution, call()) : { fields: {} as Record<string, unknown> };
  return Object.fromEntries(
    given.filter(([name, value]) => !Object.hasOwn(fields, name) || !isDeepStrictEqual(fields[name], value)),
  );
}
