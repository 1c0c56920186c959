import type { ClaimedRun, State } from '@agent-workflow/protos/threads';
import type { Message } from '@agent-workflow/protos/message';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { defaultValues } from '@agent-workflow/graph/state/merge';
import { deepFreeze, withMessages, type EngineState } from '@agent-workflow/graph/state/state';
import { fromJson } from './json.ts';

/** A thread's state at one version, parsed for the engine. */
export interface ThreadState {
  readonly version: number;
  readonly state: EngineState;
  readonly size: StateSize;
}

/**
 * The state that a claimed run begins with: the one that the claim carries, or the cached one when the claim says that its
 * version still holds.
 */
export function claimedState(graph: CompiledGraph, claimed: ClaimedRun, cached: ThreadState | undefined): ThreadState {
  const { version, appended } = claimed;
  if (claimed.state) return fromState(graph, claimed.state);
  if (!cached) throw new Error('the claim left out a state that this worker does not have');
  const messages = appended.map(({ json }) => deepFreeze(fromJson(json) as Message));
  const context = withMessages(cached.state.context, messages, claimed.replaced);
  const added = appended.reduce((sum, { json }) => sum + json.byteLength, 0);
  const size = { ...cached.size, messages: cached.size.messages + added };
  return { version, state: { ...cached.state, context }, size };
}

/** A stored state as the engine reads it: defaults filled in, fields that the graph does not declare left out. */
export function fromState(graph: Pick<CompiledGraph, 'fields'>, { version, fields, contextJson }: State): ThreadState {
  const values = defaultValues(graph.fields);
  const sizes: Record<string, number> = {};
  for (const [name, json] of Object.entries(fields)) {
    if (name !== 'context_summary' && !Object.hasOwn(graph.fields, name)) continue;
    values[name] = fromJson(json);
    sizes[name] = json.byteLength;
  }
  const state = deepFreeze({ values, context: fromJson(contextJson) as Message[] });
  return { version, state, size: { messages: contextJson.byteLength, fields: sizes } };
}

/**
 * About how many bytes a thread's state has as JSON: some count the commas between the messages, or their ids, and some do not. It
 * bounds what a worker holds in memory and what a step may add; the record counts on its own.
 */
export interface StateSize {
  /** All messages of the context. */
  readonly messages: number;
  /** Each field by its name. */
  readonly fields: Readonly<Record<string, number>>;
}

/** The byte size of all fields together. */
export const bytesOfFields = (fields: StateSize['fields']): number =>
  Object.values(fields).reduce((sum, bytes) => sum + bytes, 0);

/** The byte size of the whole state. */
export const bytesOfState = ({ messages, fields }: StateSize): number => messages + bytesOfFields(fields);
