import { isDeepStrictEqual } from 'node:util';
import { faultText, invalid, isServiceError, ServiceError, type ErrorDetail } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { jsonQuotes, sizes } from '@agent-workflow/kit/sizes';
import { isHiddenField } from '@agent-workflow/protos/hidden-fields';
import { readEntry } from '@agent-workflow/protos/message';
import type { MessageEntry, State } from '@agent-workflow/protos/threads';
import { isRunFailure, shownOf, type RunFailure } from '@agent-workflow/graph/state/failure';
import { misfit } from '@agent-workflow/graph/state/field';
import { allFields, defaultValues, mergeOutputs, type Delta, type NodeOutput } from '@agent-workflow/graph/state/merge';
import { shapeForValues, type AgentShape } from '../record/agent-shape.ts';
import { fromJson } from '../record/json.ts';
import { fromState } from '../record/thread-state.ts';

type Values = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, Uint8Array>>;
type Field = ErrorDetail['field'];

/** Passes values through reducers and checks that are not here. */
type ReduceElsewhere = (current: Fields, given: Values) => Promise<Fields>;

interface Update {
  readonly agent: AgentShape;
  readonly current: State;
  readonly update: Values;
  readonly reduceElsewhere: ReduceElsewhere;
}

/**
 * The changes of a direct write of state, with every field passed through its reducer. Where one of them needs code that is not here, all
 * of them go there.
 * @throws Invalid naming what does not fit, and what `reduceElsewhere` throws.
 */
export async function applyUpdate({ agent: known, current, update, reduceElsewhere }: Update): Promise<{
  readonly fields: Fields;
  readonly messages: readonly MessageEntry[];
}> {
  const { context, ...all } = update;
  const given = withoutReadOnly(known, current, all);
  const agent = shapeForValues(known, given);
  const messages = context === undefined ? [] : toEntries(context, ['state', 'context']);
  refuseMisfits(agent, given, { at: ['state'] });
  const { reduced, checked } = agent.elsewhere;
  const needsCode = Object.keys(given).some((name) => reduced.has(name) || checked.has(name));
  if (!needsCode) return { fields: mergeFields(agent, current, given), messages };
  const concerned = Object.entries(current.fields).filter(([name]) => Object.hasOwn(given, name));
  return { fields: await reduceElsewhere(Object.fromEntries(concerned), given), messages };
}

/**
 * The changes of a write that sets fields past their reducers. What is as it was is left out, also where the agent does not declare it: a
 * state that is sent back as it was read changes nothing.
 * @throws Invalid naming what does not fit, and a context that is another one, and what `reduceElsewhere` throws.
 */
export async function applyReplacement({ agent: known, current, update, reduceElsewhere }: Update): Promise<Fields> {
  const { context, ...given } = update;
  if (context !== undefined && !isDeepStrictEqual(context, fromJson(current.contextJson)))
    throw invalid(['state', 'context'], 'is not changed by a replacement: leave it out, or send it as it was read');
  const changed = changedOf(known, current, given);
  const agent = shapeForValues(known, changed);
  refuseMisfits(agent, changed, { at: ['state'], areResults: true });
  const { reduced, checked } = agent.elsewhere;
  // Without a reducer a worker checks the value and gives it back. With one it could only merge it: its type and schema are checked here.
  const byCode = Object.entries(changed).filter(([name]) => checked.has(name) && !reduced.has(name));
  if (byCode.length > 0) await reduceElsewhere({}, Object.fromEntries(byCode));
  return Object.fromEntries(Object.entries(changed).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]));
}

/** Of these values those that differ from what callers read of the state. */
function changedOf({ fields }: AgentShape, current: State, given: Values): Values {
  const stored = Object.entries(current.fields).map(([name, json]) => [name, fromJson(json)] as const);
  const shown: Values = { context_summary: '', ...defaultValues(fields), ...Object.fromEntries(stored) };
  const isChanged = ([name, value]: readonly [string, unknown]): boolean =>
    !Object.hasOwn(shown, name) || !isDeepStrictEqual(value, shown[name]);
  return Object.fromEntries(Object.entries(given).filter(isChanged));
}

/** These values without fields that callers only read and that come back as they were read. */
function withoutReadOnly(agent: AgentShape, current: State, given: Values): Values {
  const known = allFields(agent.fields);
  const isReadOnly = (name: string): boolean => Object.hasOwn(known, name) && known[name]?.callers === 'read';
  const names = Object.keys(given).filter(isReadOnly);
  if (names.length === 0) return given;
  const changed = changedOf(agent, current, given);
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => !isReadOnly(name) || Object.hasOwn(changed, name)),
  );
}

/** Merges what is given into the fields of a state by the reducers of the agent. @throws Invalid naming the field that does not fit. */
export function reduceFields(agent: AgentShape, current: State, given: Values): Fields {
  refuseMisfits(agent, given, { at: ['state'] });
  return mergeFields(agent, current, given);
}

/** The same for what fits. */
function mergeFields(agent: AgentShape, current: State, given: Values): Fields {
  const at = ['state'];
  const { state } = fromState(agent, current);
  const merge = (some: Values): Delta => mergeOutputs(agent.fields, state, [outputOf('state', some)]).delta;
  const delta = reduceOrRefuse(
    () => merge(given),
    () => [...at, ...faultyField(given, merge)],
  );
  return Object.fromEntries(Object.entries(delta.fields).map(([name, json]) => [name, Buffer.from(json)]));
}

/** The first field that cannot be merged even alone: fields do not depend on each other. */
function faultyField(values: Values, merge: (one: Values) => unknown): readonly string[] {
  for (const [name, value] of Object.entries(values)) {
    try {
      merge({ [name]: value });
    } catch {
      return [name];
    }
  }
  return [];
}

const outputOf = (node: string, fields: Values): NodeOutput => ({ node, fields, messages: [], mayReplace: false });

/** Divides an initial state into its fields and the messages of its context. @throws Invalid naming what is no message. */
export function splitInitialState({ context, ...fields }: Values): {
  readonly fields: Values;
  readonly messages: readonly MessageEntry[];
} {
  return { fields, messages: context === undefined ? [] : toEntries(context, ['initialState', 'context']) };
}

/**
 * Refuses an initial state that no thread could take, before its run is accepted, by trying the reducers on the defaults. Reducers that are
 * not here are tried when the run begins.
 * @throws Invalid naming the field.
 */
export function refuseInitialState(known: AgentShape, given: Values): void {
  const at = ['initialState'];
  const agent = shapeForValues(known, given);
  refuseMisfits(agent, given, { at });
  const state = { values: defaultValues(agent.fields), context: [] };
  for (const [name, value] of Object.entries(given)) {
    if (agent.elsewhere.reduced.has(name)) continue;
    const output = outputOf('initial_state', { [name]: value });
    reduceOrRefuse(
      () => mergeOutputs(agent.fields, state, [output]),
      () => [...at, name],
    );
  }
}

/** What is wrong with values is named below `at`. They are updates of the fields unless they are `areResults`: what a reducer has made. */
interface Checked {
  readonly at: Field;
  readonly areResults?: true;
}

/** @throws Invalid naming the first field that the graph does not declare, or whose value does not fit. */
function refuseMisfits({ fields, elsewhere }: AgentShape, values: Values, { at, areResults }: Checked): void {
  const known = allFields(fields);
  for (const [name, value] of Object.entries(values)) {
    const spec = Object.hasOwn(known, name) && !isHiddenField(name) ? known[name] : undefined;
    if (!spec) throw invalid([...at, name], 'is not a field of the state', 'unknown_field');
    if (spec.callers === 'read') throw invalid([...at, name], 'is a field that callers only read', 'read_only_field');
    // The input of a reducer may have another type than its result: only the result is checked.
    const isReduced = spec.reducer !== undefined || elsewhere.reduced.has(name);
    const fault = isReduced && !areResults ? undefined : misfit(spec, value);
    if (fault !== undefined) throw invalid([...at, name], fault, `${spec.type}_type`);
    if (name === 'context_summary') refuseLongSummary(value as string, [...at, name]);
  }
}

function refuseLongSummary(summary: string, at: Field): void {
  const bytes = Buffer.byteLength(JSON.stringify(summary)) - jsonQuotes;
  if (bytes <= sizes.summary) return;
  throw invalid(at, `has ${String(bytes)} bytes of JSON, more than ${String(sizes.summary)}`, 'too_large');
}

/** `fieldOf` names the field at fault, and is called only when there is one. */
function reduceOrRefuse<T>(work: () => T, fieldOf: () => Field): T {
  try {
    return work();
  } catch (error) {
    if (isRunFailure(error)) throw refusalOf(error, fieldOf());
    throw isServiceError(error)
      ? error
      : new ServiceError('Internal', 'the state could not be updated', { cause: error });
  }
}

/** The cause is what a reducer threw: it is logged alone. */
function refusalOf(failure: RunFailure, at: Field): ServiceError {
  const { message, details } = invalid(at, shownOf(failure).text);
  return new ServiceError('Invalid', message, { details, cause: failure.cause });
}

/** Messages given as part of a state. They join log and context by id, like messages that are added in other ways. */
function toEntries(context: unknown, at: Field): MessageEntry[] {
  if (!Array.isArray(context)) throw invalid(at, 'must be an array', 'array_type');
  if (context.length > sizes.messages)
    throw invalid(at, `must NOT have more than ${String(sizes.messages)} items`, 'too_long');
  const now = new Date();
  return context.map((message: unknown, index) => readEntry(message, [...at, index], { newId, now }));
}

/** Calls the record. @throws what it throws; where that names fields of its request, `toOurs` names those of ours. */
export async function withFields<T>(work: Promise<T>, toOurs: (field: Field) => Field): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isServiceError(error, 'Invalid') ? renamed(error, toOurs) : error;
  }
}

function renamed({ message, details, cause }: ServiceError, toOurs: (field: Field) => Field): ServiceError {
  const ours = details.map((detail) => ({ ...detail, field: toOurs(detail.field) }));
  const [theirs] = details;
  const [first] = ours;
  const namesField = theirs && first && message === faultText(theirs.field, theirs.msg);
  const text = namesField ? faultText(first.field, first.msg) : message;
  return new ServiceError('Invalid', text, { details: ours, cause });
}

/**
 * A field of the messages that the record was given, of which the first `count` are the context at `at` and the others the messages of the
 * request. A fault of all of them is one of `at` when there are no others.
 */
export const messageField =
  (at: Field, count: number, hasOthers: boolean) =>
  (field: Field): Field => {
    const [name, index, ...rest] = field;
    if (name !== 'messages') return field;
    if (typeof index !== 'number') return hasOthers ? field : [...at, ...field.slice(1)];
    return index < count ? [...at, index, ...rest] : [name, index - count, ...rest];
  };
