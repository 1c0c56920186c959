import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import type { ThreadMatch } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonBytes, jsonText } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import type { Output } from '../out/output.ts';
import { isEmptyState, partsOfState, tasksIn, valuesText } from '../out/values.ts';

/** What a thread holds as it stands. */
interface Held {
  /** Its values as JSON text; `null` where it has none yet. */
  readonly values: string;
  /** What is known of the tasks that come next. */
  readonly tasks: StepTasks | undefined;
}

/** The values of a thread as it stands, and its tasks. With `output` the values that its graph gives out. */
export async function readHeld(
  { owner, call: begin }: Pick<EndpointRequest, 'owner' | 'call'>,
  threadId: string,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
  output?: Output,
): Promise<Held> {
  const call = begin();
  const state = await threads.getState({ owner, threadId }, call);
  const tasks = tasksIn(state);
  if (isEmptyState(state)) return { values: 'null', tasks };
  return { values: valuesText(state, await fieldDefaults(execution, state, call), output), tasks };
}

/** The values of a thread as it stands, as JSON text. */
export const readValues = async (...given: Parameters<typeof readHeld>): Promise<string> =>
  (await readHeld(...given)).values;

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
