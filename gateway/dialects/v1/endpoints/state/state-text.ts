import type { State } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText } from '../../../../http/json.ts';
import { messagesText } from '../common/messages-text.ts';
import type { FieldDefaults } from './field-defaults.ts';

/** A state as JSON text of a reply. */
export const stateReply = (state: State, defaults: FieldDefaults): string =>
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
  for (const [name, json] of Object.entries(fields)) members[name] = jsonText(json);
  members['context'] = messagesText(contextJson);
  members['context_summary'] ??= '""';
  return jsonObject(members);
}
