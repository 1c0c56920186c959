import { conflict } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { shownFields } from '@agent-workflow/protos/hidden-fields';
import { idText } from '@agent-workflow/protos/message';
import type { State } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText, jsonObject } from '../../../http/json.ts';
import { fieldDefaults, type FieldDefaults } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import * as examples from '../examples/state.ts';
import { Done } from '../schemas/common.ts';
import { ThreadParams, ThreadState, UpdateState, DeleteInput } from '../schemas/threads.ts';
import { boundedBytes } from '../../common/bounded.ts';
import { endpoint } from './common/endpoint.ts';
import { messagesText } from './common/messages-text.ts';
import { checkPathThread } from './common/path-thread.ts';

/** A state as JSON text of a reply. */
const stateReply = (state: State, defaults: FieldDefaults): string =>
  jsonObject({
    state: stateText(state, defaults),
    ...agentOf(state),
    checkpoint_id: JSON.stringify(String(state.version)),
    ...truncationOf(state),
  });

const agentOf = ({ agent }: State): Readonly<Record<string, string>> =>
  agent === undefined ? {} : { agent: JSON.stringify(agent) };

/** `context_truncated`, when older messages of the context do not fit the reply. */
export const truncationOf = ({ contextTruncated }: State): Readonly<Record<string, string>> =>
  contextTruncated === true ? { context_truncated: 'true' } : {};

/** The stored fields, and the defaults of the others. */
export function stateText({ fields, contextJson }: State, defaults: FieldDefaults): string {
  const members: Record<string, string> = { ...defaults };
  for (const [name, json] of Object.entries(shownFields(fields))) members[name] = jsonText(json);
  members['context'] = messagesText(contextJson);
  members['context_summary'] ??= '""';
  return jsonObject(members);
}

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

/** Passes the given fields through their reducers; gives the whole state. */
export const updateState = endpoint({
  name: 'updateState',
  tag: 'threads',
  summary: 'Update fields of the state',
  description:
    'Changes fields of the state and gives the whole state after that. Fields that are not named stay. 409 while a run of the thread is under way, and when the thread is no longer at the `checkpoint_id` that is given.',
  example: examples.updateState,
  method: 'POST',
  path: '/v1/threads/{thread_id}/state',
  aliases: [{ method: 'PUT', path: '/v1/threads/{thread_id}/state' }],
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: UpdateState,
  reply: ThreadState,
  handle: async ({ params, input, owner, idempotency, call: begin }, { execution }) => {
    checkPathThread(input.config.thread_id, params.thread_id);
    const stateJson = boundedBytes(input.state, ['body', 'state'], sizes.state);
    const call = begin();
    const { mode, checkpoint_id: checkpointId } = input;
    const how = {
      ...(checkpointId !== undefined && { expectedVersion: versionOf(checkpointId, params.thread_id) }),
      ...(mode === 'replace' && { replaces: true }),
    };
    const update = { owner, threadId: params.thread_id, stateJson, ...how, ...idempotency };
    const state = await execution.updateState(update, call);
    return stateReply(state, await fieldDefaults(execution, state, call));
  },
});

/** The version of a thread that its checkpoint names. */
function versionOf(checkpointId: string | number, threadId: string): number {
  const text = idText(checkpointId);
  const version = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(version)) return version;
  throw conflict(`thread "${threadId}" is not at checkpoint "${text}"`);
}

/** Clears fields and context; the thread and its message log stay. */
export const clearState = endpoint({
  name: 'clearState',
  tag: 'threads',
  summary: 'Clear the state; the messages stay',
  description:
    'Resets all fields and the context of the agent; the log of messages stays. 409 while a run of the thread is under way.',
  example: examples.clearState,
  method: 'DELETE',
  path: '/v1/threads/{thread_id}/state',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, idempotency, call }, { threads }) => {
    await threads.clearState({ owner, threadId: params.thread_id, ...idempotency }, call());
    return '{"success":true}';
  },
});
