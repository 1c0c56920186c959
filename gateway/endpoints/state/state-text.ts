import type { State } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText } from '../../http/json.ts';
import type { FieldDefaults } from './field-defaults.ts';

/** A state as the replies tell it. */
export const stateReply = (state: State, defaults: FieldDefaults): string =>
  jsonObject({ state: stateText(state, defaults), ...truncationOf(state) });

/** Says so where older messages of the context are left out of a reply. */
export const truncationOf = ({ contextTruncated }: State): Readonly<Record<string, string>> =>
  contextTruncated === true ? { context_truncated: 'true' } : {};

/** What is stored, over the defaults of the graph's fields. */
export function stateText({ fields, contextJson }: State, defaults: FieldDefaults): string {
  const members: Record<string, string> = { ...defaults };
  for (const [name, json] of Object.entries(fields)) members[name] = jsonText(json);
  members['context'] = jsonText(contextJson);
  members['context_summary'] ??= '""';
  return jsonObject(members);
}
