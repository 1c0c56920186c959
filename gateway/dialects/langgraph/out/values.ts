import { shownFields } from '@agent-workflow/protos/hidden-fields';
import type { Message } from '@agent-workflow/protos/message';
import { jsonWithoutProviderData } from '@agent-workflow/protos/provider-data';
import { keptName, type KeptTasks, type StepTasks } from '@agent-workflow/protos/step-tasks';
import type { State } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText } from '../../../http/json.ts';
import type { FieldDefaults } from '../../common/graph-facts.ts';
import { toLangChain } from '../messages/to-langchain.ts';
import { givenOut, type Output } from './output.ts';

type StoredState = Pick<State, 'fields' | 'contextJson'>;

/** Whether nothing was ever written to a state. */
export const isEmptyState = ({ fields, contextJson }: StoredState): boolean =>
  Object.keys(fields).length === 0 && contextJson.byteLength <= '[]'.length;

/** What a state holds for clients: the messages that the model sees, and the JSON of each field, with the defaults of those that were not stored. */
interface StateParts {
  readonly fields: Readonly<Record<string, string>>;
  readonly messages: readonly Message[];
}

/** The parts of a state. The summary of what the model no longer sees is a field where there is one. */
export function partsOfState({ fields, contextJson }: StoredState, defaults: FieldDefaults): StateParts {
  const { context: _context, context_summary: _summary, ...usual } = defaults;
  const messages = JSON.parse(jsonWithoutProviderData(jsonText(contextJson))) as readonly Message[];
  const stored = Object.entries(shownFields(fields)).map(([name, json]) => [name, jsonText(json)] as const);
  const shown = stored.filter(([name, text]) => name !== 'context_summary' || text !== '""');
  return { fields: { ...usual, ...Object.fromEntries(shown) }, messages };
}

/** What the tasks of the last step gave, of a graph that says so. */
export function tasksIn({ fields }: StoredState): StepTasks | undefined {
  const json = fields[keptName];
  return json && (JSON.parse(jsonText(json)) as KeptTasks | null)?.given;
}

/** The values of a state as JSON text; with `output` those that the graph gives out. */
export function valuesText(state: StoredState, defaults: FieldDefaults, output?: Output): string {
  const { fields, messages } = partsOfState(state, defaults);
  return jsonObject(givenOut({ ...fields, messages: JSON.stringify(messages.flatMap(toLangChain)) }, output));
}
