import { badRequest, invalid } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { idText } from '@agent-workflow/protos/message';
import type { State } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { jsonBytes, jsonObject, jsonText } from '../http/json.ts';
import type { DeleteInput, ThreadParams, UpdateState } from '../schemas/threads.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { fieldDefaults } from './field-defaults.ts';

type Params = Static<typeof ThreadParams>;

/** The whole state: what is stored, over the defaults of the graph's fields. */
export async function getState(ask: Ask<Params>, services: Services): Promise<string> {
  const call = ask.call();
  const state = await services.threads.getState({ owner: ask.owner, threadId: ask.params.thread_id }, call);
  return replyOf(state, await fieldDefaults(services.execution, call));
}

/** Passes the given fields through their reducers and gives the whole state. */
export async function updateState(ask: Ask<Params, Static<typeof UpdateState>>, services: Services): Promise<string> {
  const { params, input, owner, once } = ask;
  const named = input.config.thread_id;
  if (named !== undefined && idText(named) !== params.thread_id) {
    throw badRequest(`config.thread_id "${idText(named)}" is not the thread of the path, "${params.thread_id}"`);
  }
  const stateJson = jsonBytes(input.state);
  if (stateJson.length > sizes.state) {
    throw invalid(['body', 'state'], `is larger than ${String(sizes.state)} bytes`, 'too_large');
  }
  const call = ask.call();
  const state = await services.execution.updateState({ owner, threadId: params.thread_id, stateJson, ...once }, call);
  return replyOf(state, await fieldDefaults(services.execution, call));
}

/** Clears fields and context; the thread and its messages stay. */
export async function clearState(ask: Ask<Params, Static<typeof DeleteInput>>, { threads }: Services): Promise<string> {
  await threads.clearState({ owner: ask.owner, threadId: ask.params.thread_id, ...ask.once }, ask.call());
  return '{"success":true}';
}

const replyOf = (state: State, defaults: Readonly<Record<string, string>>): string =>
  jsonObject({ state: stateOf(state, defaults), ...truncationOf(state) });

/** Says so where older messages of the context are left out of a reply. */
export const truncationOf = ({ contextTruncated }: State): Readonly<Record<string, string>> =>
  contextTruncated === true ? { context_truncated: 'true' } : {};

/** What is stored, over the defaults of the graph's fields. */
export function stateOf({ fields, contextJson }: State, defaults: Readonly<Record<string, string>>): string {
  const members: Record<string, string> = { ...defaults };
  for (const [name, json] of Object.entries(fields)) members[name] = jsonText(json);
  members['context'] = jsonText(contextJson);
  members['context_summary'] ??= '""';
  return jsonObject(members);
}
