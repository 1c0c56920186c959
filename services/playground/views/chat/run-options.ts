import type { JsonObject, RunConfig, RunRequest } from '@agent-workflow/client';
import { formOfFields, readForm, readJson, type FormModel, type FormTexts } from '../../ui/forms/schema-form.ts';

/** What the reader has set for the next runs, as it was typed. */
export interface RunOptions {
  readonly granularity: NonNullable<RunRequest['response_granularity']>;
  readonly recursionLimit: string;
  readonly strategy: NonNullable<RunConfig['multitask_strategy']>;
  /** Of a thread that the run makes. */
  readonly threadName: string;
  /** Further fields of `config`, as a JSON object. */
  readonly config: string;
  /** The fields of the initial state. */
  readonly state: FormTexts;
  /** Further fields of the initial state, as a JSON object. */
  readonly stateJson: string;
}

export const defaultOptions: RunOptions = {
  granularity: 'low',
  recursionLimit: '',
  strategy: 'enqueue',
  threadName: '',
  config: '',
  state: {},
  stateJson: '',
};

/** What a request holds of the options, or what is wrong with them, by the names of the fields. */
type ReadOptions =
  | { readonly request: Omit<RunRequest, 'messages'>; readonly errors?: undefined }
  | { readonly errors: Readonly<Record<string, string>> };

/** These are kept by the service and not written by callers. */
const ownFields: ReadonlySet<string> = new Set(['context', 'context_summary']);

/** The form of the initial state, from the reply of `GET /v1/graph:StateSchema`. */
export function stateFormOf({ fields = {}, properties = {} }: JsonObject): FormModel {
  const described = properties as Readonly<Record<string, object>>;
  const written = Object.entries(fields as Readonly<Record<string, { readonly schema?: object }>>).filter(
    ([name]) => !ownFields.has(name),
  );
  // The property leaves out a schema that refers to itself.
  return formOfFields(
    Object.fromEntries(written.map(([name, { schema }]) => [name, { ...schema, ...described[name] }])),
  );
}

interface OptionsContext {
  /** The form of the initial state. */
  readonly form?: FormModel | undefined;
  /** The agent that the run names. */
  readonly agent?: string | undefined;
}

/** Reads the options. What is at its default is left to the service. */
export function readOptions(options: RunOptions, { form, agent }: OptionsContext): ReadOptions {
  const errors: Record<string, string> = {};
  const limit = readLimit(options.recursionLimit, errors);
  const config = readObject('config', options.config, errors);
  if (Object.hasOwn(config, 'thread_id')) errors['config'] = 'must not name `thread_id`: the chat gives the thread';
  if (agent !== undefined && Object.hasOwn(config, 'agent'))
    errors['config'] = 'must not name `agent`: it is chosen beside the chat';
  const more = readObject('stateJson', options.stateJson, errors);
  const fields = form ? readForm(form, options.state) : { value: {} };
  Object.assign(errors, fields.errors);
  if (fields.errors || Object.keys(errors).length > 0) return { errors };
  const state = { ...(fields.value as object), ...more };
  return {
    request: {
      config: {
        ...config,
        ...(agent !== undefined && { agent }),
        ...(options.strategy !== 'enqueue' && { multitask_strategy: options.strategy }),
        ...(options.threadName !== '' && { thread_name: options.threadName }),
      },
      response_granularity: options.granularity,
      ...(limit !== undefined && { recursion_limit: limit }),
      ...(Object.keys(state).length > 0 && { initial_state: state }),
    },
  };
}

function readLimit(text: string, errors: Record<string, string>): number | undefined {
  if (text.trim() === '') return undefined;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  errors['recursionLimit'] = 'must be a whole number from 1 to 1000';
  return undefined;
}

function readObject(name: string, text: string, errors: Record<string, string>): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {};
  const read = readJson(text);
  if ('error' in read) errors[name] = read.error;
  else if (typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value))
    return read.value as Readonly<Record<string, unknown>>;
  else errors[name] = 'must be a JSON object';
  return {};
}

/** How many options are not at their defaults. */
export const countSet = (options: RunOptions): number =>
  (['granularity', 'recursionLimit', 'strategy', 'threadName', 'config', 'stateJson'] as const).filter(
    (name) => options[name] !== defaultOptions[name],
  ).length + Object.values(options.state).filter((text) => text !== '').length;
