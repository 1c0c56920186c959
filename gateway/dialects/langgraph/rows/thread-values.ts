import type { ThreadMatch } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonBytes, jsonText } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import type { Output } from '../out/output.ts';
import { isEmptyState, partsOfState, valuesText } from '../out/values.ts';

/** The values of a thread as it stands, as JSON text; `null` where it has none yet. With `output` those that its graph gives out. */
export async function readValues(
  { owner, call: begin }: Pick<EndpointRequest, 'owner' | 'call'>,
  threadId: string,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
  output?: Output,
): Promise<string> {
  const call = begin();
  const state = await threads.getState({ owner, threadId }, call);
  return isEmptyState(state) ? 'null' : valuesText(state, await fieldDefaults(execution, state, call), output);
}

/** The fields of a thread among its values, of which a search has read what is stored; `undefined` where it has read nothing. */
export async function fieldsOf(
  { call }: Pick<EndpointRequest, 'call'>,
  { thread, valuesJson }: ThreadMatch,
  { execution }: Pick<Services, 'execution'>,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const stored = JSON.parse(valuesJson ? jsonText(valuesJson) : '{}') as Readonly<Record<string, unknown>>;
  if (Object.keys(stored).length === 0) return undefined;
  const { agent } = thread;
  const defaults = await fieldDefaults(execution, { ...(agent !== undefined && { agent }) }, call());
  const fields = Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, jsonBytes(value)]));
  const { fields: shown } = partsOfState({ fields, contextJson: jsonBytes([]) }, defaults);
  return Object.fromEntries(Object.entries(shown).map(([name, text]) => [name, JSON.parse(text) as unknown]));
}
