import { sizes } from '@agent-workflow/kit/sizes';
import type { Message } from '@agent-workflow/protos/message';
import { failureOfCode, isRunFailure, readable, RunFailure } from './failure.ts';
import { misfit, type FieldSpec } from './field.ts';
import { lostPlace, whyNoJson } from './json-value.ts';
import { deepFreeze, withMessages, withoutMessages, type EngineState } from './state.ts';

/** What one step changes: the part of it that is committed. */
export interface Delta {
  /** Changed fields: their new values as JSON text. */
  readonly fields: Readonly<Record<string, string>>;
  readonly messages: readonly Message[];
  /** Whether one of `messages` may have the id of a message in the log, which it then replaces. */
  readonly mayReplace: boolean;
  /** Ids of messages that are removed from the context, each once. One that is in `messages` too is added to the log alone. */
  readonly removed: readonly string[];
}

/** What one node returned. */
export interface NodeOutput {
  readonly node: string;
  /** The branch of a fan-out in which the node ran. */
  readonly branch?: number;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
  readonly mayReplace: boolean;
  /** Whether the fields are values, and no updates that pass reducers. */
  readonly areResults?: boolean;
  /** `removed_from_context` as the node returned it; absent when it returned none. */
  readonly removed?: unknown;
}

type Specs = Readonly<Record<string, FieldSpec<unknown>>>;

const summary: FieldSpec<unknown> = {
  type: 'string',
  description: 'Summary of what the context no longer holds',
  default: '',
};

/** The fields of every graph: its own and those that the service fills. */
export const allFields = (fields: Specs): Specs => ({
  ...fields,
  context: { type: 'array', description: 'Messages that the model sees', default: [] },
  context_summary: summary,
});

/** The values of a new thread. */
export const defaultValues = (fields: Specs): Record<string, unknown> =>
  Object.fromEntries([
    ...Object.entries(fields).flatMap(([name, spec]) =>
      spec.default === undefined ? [] : [[name, spec.default] as const],
    ),
    ['context_summary', ''],
  ]);

/**
 * Merges what the nodes of one step returned, in the order of `outputs`: the same outputs give the same state, in whichever
 * order the nodes finished.
 */
export function mergeOutputs(
  fields: Specs,
  state: EngineState,
  outputs: readonly NodeOutput[],
): { readonly state: EngineState; readonly delta: Delta } {
  const values: Record<string, unknown> = { ...state.values };
  const writers = new Map<string, NodeOutput>();
  for (const output of outputs) {
    const { node, fields: update, areResults = false } = output;
    for (const [name, value] of Object.entries(update)) {
      if (value === undefined) continue;
      const declared = specOf(fields, name, node);
      const spec = areResults ? withoutReducer(declared) : declared;
      const other = writers.get(name);
      if (other && !spec.reducer) refuseSecond(name, other, output);
      writers.set(name, output);
      values[name] = reduceField({ name, spec, current: values[name], update: value, node });
    }
  }
  const changed = [...writers.keys()].map(
    (name) => [name, toJsonValue(name, values[name], writers.get(name)?.node)] as const,
  );
  for (const [name, json] of changed) values[name] = toStored(fields, name, json, writers.get(name)?.node ?? '');
  const messages = outputs.flatMap((output) => output.messages);
  const mayReplace = outputs.some((output) => output.mayReplace);
  const added = withMessages(state.context, messages, mayReplace);
  const removed = removedBy(outputs, added);
  return {
    state: { values: Object.freeze(values), context: withoutMessages(added, removed) },
    delta: { fields: Object.fromEntries(changed), messages, mayReplace, removed },
  };
}

const withoutReducer = ({ reducer: _, ...spec }: FieldSpec<unknown>): FieldSpec<unknown> => spec;

/**
 * The value as it is stored. It was checked as the node or the reducer gave it, when its JSON may have been another: `toJSON` and getters
 * decide anew each time. A check by code of the author is not made again, because it may be about a Date, which is stored as a text.
 */
function toStored(specs: Specs, name: string, json: string, node: string): unknown {
  const value: unknown = JSON.parse(json);
  const { type, schema } = specOf(specs, name, node);
  const fault = misfit({ type, ...(schema && { schema }) }, value);
  if (fault !== undefined) throw new RunFailure('NodeFailed', `field "${name}" ${fault} as JSON`, { node });
  return deepFreeze(value);
}

/** A sub-graph gives one output for each node that ran in it, in their order; the last value counts. */
function refuseSecond(field: string, first: NodeOutput, second: NodeOutput): void {
  const { node } = second;
  if (first.node === node && first.branch === second.branch) return;
  const who = first.node === node ? `branches of node "${node}"` : `nodes "${first.node}" and "${node}"`;
  const why = `${who} wrote field "${field}" in one step, and it has no reducer`;
  throw new RunFailure('GraphFailed', why, { node });
}

const nothing: readonly string[] = [];

/**
 * The ids that the nodes of a step remove, in the order of the nodes. Several nodes may remove the same message, and a node may remove a
 * message that another node of the same step adds or replaces: it is then removed, in whichever order the nodes finished.
 */
function removedBy(outputs: readonly NodeOutput[], context: readonly Message[]): readonly string[] {
  if (outputs.every(({ removed }) => removed === undefined)) return nothing;
  const known = new Set(context.map(({ message_id: id }) => id));
  return [...new Set(outputs.flatMap(({ node, removed = nothing }) => readRemoved(node, removed, known)))];
}

function readRemoved(node: string, removed: unknown, known: ReadonlySet<string>): readonly string[] {
  const refuse = (why: string): RunFailure =>
    new RunFailure('NodeFailed', `removed_from_context of node "${node}" ${why}`, { node });
  if (!Array.isArray(removed)) throw refuse(misfit({ type: 'array' }, removed) ?? '');
  return removed.map((id: unknown) => {
    const fault = misfit({ type: 'string' }, id);
    if (fault !== undefined) throw refuse(`holds what is no message id: it ${fault}`);
    if (!known.has(id as string))
      throw refuse(`names "${id as string}", which no message of the context has for its id`);
    return id as string;
  });
}

interface Reduction {
  readonly name: string;
  readonly spec: FieldSpec<unknown>;
  readonly current: unknown;
  readonly update: unknown;
  readonly node: string;
}

/** One field's new value. Both the update and what the reducer makes of it must fit the field. */
function reduceField({ name, spec, current, update, node }: Reduction): unknown {
  const value = spec.reducer ? callReducer(spec.reducer, current, update, name, node) : update;
  // The update itself was searched where the node returned it.
  if (value instanceof Promise) {
    // What it rejects with later would end the process of a test.
    value.catch(() => undefined);
    throw new RunFailure('NodeFailed', `the reducer of field "${name}" gives a promise: it must return at once`, {
      node,
    });
  }
  const fault = misfit(spec, value);
  if (fault !== undefined) throw new RunFailure('NodeFailed', `field "${name}" ${fault}`, { node });
  return value;
}

function callReducer(
  reducer: NonNullable<FieldSpec<unknown>['reducer']>,
  current: unknown,
  update: unknown,
  name: string,
  node: string,
): unknown {
  try {
    return reducer(current, update);
  } catch (cause) {
    throw failureOfCode('NodeFailed', `the reducer of field "${name}"`, readable(cause), node);
  }
}

function specOf(fields: Specs, name: string, node: string): FieldSpec<unknown> {
  if (name === 'context_summary') return summary;
  const spec = Object.hasOwn(fields, name) ? fields[name] : undefined;
  const help = name === 'context' ? ': messages are returned as "messages"' : '';
  if (!spec) throw new RunFailure('NodeFailed', `field "${name}" is not declared in the graph${help}`, { node });
  return spec;
}

function toJsonValue(name: string, value: unknown, node: string | undefined): string {
  let cause: unknown;
  try {
    const json = JSON.stringify(value) as string | undefined;
    if (json !== undefined) return checkKept(name, value, checkSize(name, json, node), node);
  } catch (error) {
    if (isRunFailure(error)) throw error;
    // A cycle or a bigint is refused below, like every other value that is not JSON.
    cause = error;
  }
  throw new RunFailure('NodeFailed', `field "${name}" holds a value that ${whyNoJson(cause, value, name)}`, {
    node,
    cause,
  });
}

/** Refuses a field that JSON would empty. */
function checkKept(name: string, value: unknown, json: string, node: string | undefined): string {
  const lost = lostPlace(value, json, name);
  if (lost === undefined) return json;
  throw new RunFailure('NodeFailed', `field "${name}" holds ${lost}`, node === undefined ? {} : { node });
}

/** Refuses a field that alone is over the size limit of the state, before it is copied again. */
function checkSize(name: string, json: string, node: string | undefined): string {
  if (json.length <= sizes.state) return json;
  const what = `field "${name}" has ${json.length} bytes or more, and the size limit of the state is ${sizes.state}`;
  throw new RunFailure('NodeFailed', what, node === undefined ? {} : { node });
}
