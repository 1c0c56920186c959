import type { Message } from '@agent-workflow/protos/message';
import { jsonWithoutProviderData } from '@agent-workflow/protos/provider-data';
import type { State } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText } from '../../../http/json.ts';
import type { FieldDefaults } from '../../common/field-defaults.ts';
import { toLangChain } from '../messages/to-langchain.ts';

type StoredState = Pick<State, 'fields' | 'contextJson'>;

/** Whether nothing was ever written to a state. */
export const isEmptyState = ({ fields, contextJson }: StoredState): boolean =>
  Object.keys(fields).length === 0 && contextJson.byteLength <= '[]'.length;

/**
 * The values of a state as JSON text: the messages that the model sees, and the fields, with the defaults of those that were not stored. The
 * summary of what the model no longer sees is among them where there is one.
 */
export function valuesText({ fields, contextJson }: StoredState, defaults: FieldDefaults): string {
  const { context: _context, context_summary: _summary, ...usual } = defaults;
  const messages = JSON.parse(jsonWithoutProviderData(jsonText(contextJson))) as readonly Message[];
  const stored = Object.entries(fields).map(([name, json]) => [name, jsonText(json)] as const);
  return jsonObject({
    ...usual,
    ...Object.fromEntries(stored.filter(([name, text]) => name !== 'context_summary' || text !== '""')),
    messages: JSON.stringify(messages.flatMap(toLangChain)),
  });
}
