import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import { shownFields } from '@agent-workflow/protos/hidden-fields';
import type { Message } from '@agent-workflow/protos/message';
import { jsonWithoutProviderData } from '@agent-workflow/protos/provider-data';
import type { State } from '@agent-workflow/protos/threads';
import { jsonText } from '../../../http/json.ts';
import { fieldDefaults, type FieldDefaults } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import type { Beginning } from '../events/run-events.ts';

/** Checkpoints among which those of a run are looked for: as many as are kept by default. */
const most = 100;

/** A state as the page shares it: the fields of the graph with their defaults, and the messages that the model sees. */
export async function stateOf(state: State, execution: Execution, call: Call): Promise<Beginning> {
  const { context_summary: _own, ...stored } = shownFields(state.fields);
  const texts = Object.fromEntries(Object.entries(stored).map(([name, json]) => [name, jsonText(json)]));
  const messages = JSON.parse(jsonWithoutProviderData(jsonText(state.contextJson))) as readonly Message[];
  return { fields: fieldsOf(await fieldDefaults(execution, state, call), texts), messages };
}

/** The fields of a graph as a page shares them: those that are stored, else their defaults; both as JSON texts. */
export function fieldsOf(
  { context: _context, context_summary: _summary, ...defaults }: FieldDefaults,
  stored: Readonly<Record<string, string>> = {},
): Beginning['fields'] {
  const texts = Object.entries({ ...defaults, ...stored });
  return Object.fromEntries(texts.map(([name, json]) => [name, JSON.parse(json) as unknown]));
}

/** What a run began with: the thread with the input of the run. `undefined`: its checkpoint is not kept any more. */
export async function beginningOf(
  { owner, threadId, runId }: { readonly owner: string; readonly threadId: string; readonly runId: string },
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
  call: Call,
): Promise<Beginning | undefined> {
  const { checkpoints } = await threads.listCheckpoints({ owner, threadId, limit: most, offset: 0 }, call);
  const first = checkpoints.findLastIndex((checkpoint) => checkpoint.runId === runId);
  const isInput = checkpoints[first]?.source === 'input';
  const later = checkpoints[first - 1];
  // The fields of an input may have a checkpoint behind that of its messages.
  const hasFields = isInput && later?.runId === runId && later.source === 'input';
  const begins = first === -1 ? 0 : hasFields ? first - 1 : isInput ? first : first + 1;
  if (first === -1 && (await threads.getRun({ owner, runId }, call)).end) return undefined;
  const checkpoint = checkpoints[begins];
  if (!checkpoint) return checkpoints.length < most ? { fields: {}, messages: [] } : undefined;
  const { state } = await threads.getCheckpoint({ owner, threadId, checkpointId: checkpoint.checkpointId }, call);
  return stateOf(state, execution, call);
}
