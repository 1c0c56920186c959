import { invalid, isServiceError, ServiceError, type ErrorDetail } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import { readEntry } from '@agent-workflow/protos/message';
import type { MessageEntry, State } from '@agent-workflow/protos/threads';
import { RunFailure } from '@agent-workflow/graph/state/failure';
import { misfit } from '@agent-workflow/graph/state/field';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { allFields, defaultValues, mergeOutputs } from '@agent-workflow/graph/state/merge';
import { fromState } from '../record/hot-threads.ts';

type Values = Readonly<Record<string, unknown>>;
type Field = ErrorDetail['field'];

/** What a direct write of state comes to, with every field passed through its reducer. */
export function applyUpdate(
  graph: CompiledGraph,
  current: State,
  update: Values,
): { readonly fields: Record<string, Uint8Array>; readonly messages: readonly MessageEntry[] } {
  const at = ['state'];
  const { context, ...given } = update;
  const messages = context === undefined ? [] : toEntries(context, [...at, 'context']);
  refuseMisfits(graph, given, at);
  const output = { node: 'state', fields: given, messages: [], mayReplace: false };
  const { delta } = reduceOrRefuse(() => mergeOutputs(graph.fields, fromState(graph, current).state, [output]), at);
  const fields = Object.fromEntries(Object.entries(delta.fields).map(([name, json]) => [name, Buffer.from(json)]));
  return { fields, messages };
}

/** An initial state apart: fields, and the messages of its context. @throws Invalid naming what is no message. */
export function splitInitialState({ context, ...fields }: Values): {
  readonly fields: Values;
  readonly messages: readonly MessageEntry[];
} {
  return { fields, messages: context === undefined ? [] : toEntries(context, ['initialState', 'context']) };
}

/**
 * Refuses an initial state that no thread could take, before its run is accepted: reducers are tried on the defaults.
 * @throws Invalid naming the field.
 */
export function refuseInitialState(graph: CompiledGraph, given: Values): void {
  const at = ['initialState'];
  refuseMisfits(graph, given, at);
  const state = { values: defaultValues(graph.fields), context: [] };
  for (const [name, value] of Object.entries(given)) {
    const output = { node: 'initial_state', fields: { [name]: value }, messages: [], mayReplace: false };
    reduceOrRefuse(() => mergeOutputs(graph.fields, state, [output]), [...at, name]);
  }
}

/** @throws Invalid naming the first field that the graph does not declare, or whose value does not fit. */
function refuseMisfits(graph: CompiledGraph, values: Values, at: Field): void {
  const known = allFields(graph.fields);
  for (const [name, value] of Object.entries(values)) {
    const spec = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!spec) throw invalid([...at, name], 'is not a field of the state', 'unknown_field');
    // What a reducer takes may differ from what it makes: only the result is held to the type.
    const fault = spec.reducer ? undefined : misfit(spec, value);
    if (fault !== undefined) throw invalid([...at, name], fault, `${spec.type}_type`);
    if (name === 'context_summary') refuseLongSummary(value as string, [...at, name]);
  }
}

function refuseLongSummary(summary: string, at: Field): void {
  const bytes = Buffer.byteLength(JSON.stringify(summary)) - quotes;
  if (bytes <= sizes.summary) return;
  throw invalid(at, `has ${String(bytes)} bytes of JSON, more than ${String(sizes.summary)}`, 'too_large');
}

const quotes = 2;

function reduceOrRefuse<T>(work: () => T, at: Field): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RunFailure) throw refusalOf(error, at);
    throw isServiceError(error)
      ? error
      : new ServiceError('Internal', 'the state could not be updated', { cause: error });
  }
}

/** The cause is what a reducer threw: for the log. */
function refusalOf({ message, cause }: RunFailure, at: Field): ServiceError {
  const { message: text, details } = invalid(at, message);
  return new ServiceError('Invalid', text, { details, cause });
}

/** Messages given as part of a state: they join log and context by id, as messages added any other way do. */
function toEntries(context: unknown, at: Field): MessageEntry[] {
  if (!Array.isArray(context)) throw invalid(at, 'must be an array', 'array_type');
  if (context.length > sizes.messages)
    throw invalid(at, `must NOT have more than ${String(sizes.messages)} items`, 'too_long');
  const now = new Date();
  return context.map((message: unknown, index) => readEntry(message, [...at, index], { newId, now }));
}
