import type { Message } from '@agent-workflow/protos/message';
import type { NodeContext } from '../build/context.ts';
import { StatedError } from '../state/stated-error.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';
import { nameOf } from '../state/name-of.ts';
import { compileSchema, schemaFault, type JsonSchema } from '../state/schema.ts';
import {
  checkValue,
  isStandardSchema,
  toJsonSchema,
  type Checked,
  type OutputOf,
  type StandardSchema,
} from '../state/standard-schema.ts';
import type { AnswerPart, Model, ModelQuestion } from './model.ts';

/** What a model node reads of any graph's state. */
export interface ModelState {
  readonly context: readonly Message[];
  readonly context_summary: string;
}

export interface ModelNodeOptions<S extends ModelState> {
  readonly model: Model;
  /** What the model is and how it is to answer: a text, or one made of the state. */
  readonly instructions?: string | ((state: S, context: NodeContext) => string);
  /** The names of the tools that this node may call; absent: every tool of the run, those of its caller included. */
  readonly tools?: readonly string[];
}

/**
 * A node that asks a model: the instructions, the summary of what was removed, and the context. Text is streamed as it comes; calls
 * of tools are emitted for a tool node after it, and the tokens that the model counts are reported as usage.
 * @throws Error at once when it is given no model or an option that it does not have, and in a run what the model throws; the policy of the node says whether it is tried again.
 */
export function modelNode<S extends ModelState>(
  options: ModelNodeOptions<S>,
): (state: S, context: NodeContext) => Promise<undefined> {
  requireObject('what modelNode is given', options);
  refuseUnknown('what modelNode is given', '', options, modelNodeNames);
  requireModel('modelNode', options.model);
  requireValidInstructions('modelNode', options.instructions);
  return async (state, context) => {
    for await (const part of partsOf(options.model, questionOf(options, state, context), context.signal)) {
      requirePart(part);
      if (part.type === 'text') context.emit(part.text);
      if (part.type === 'tool_call') context.emit({ ...part, tool_type: 'function' });
      if (part.type === 'usage') context.usage(part);
    }
  };
}

const modelNodeNames: Readonly<Record<keyof ModelNodeOptions<ModelState>, true>> = {
  model: true,
  instructions: true,
  tools: true,
};

/** What JavaScript lets pass: no model, a promise of one, and the model of another library. */
export function requireModel(what: string, model: unknown): void {
  if (typeof model === 'object' && model !== null && 'answer' in model && typeof model.answer === 'function') return;
  throw new Error(`the model of ${what} must be one as chatModel() or aiSdkModel() makes it, not ${nameOf(model)}`);
}

/** What JavaScript lets pass in a model of an author's own: a whole answer in place of its parts, and a promise of them. */
function partsOf(model: Model, question: ModelQuestion, signal: AbortSignal): AsyncIterable<AnswerPart> {
  const answer: unknown = model.answer(question, signal);
  const isStream =
    typeof answer === 'object' && answer !== null && (Symbol.asyncIterator in answer || Symbol.iterator in answer);
  if (isStream) return answer as AsyncIterable<AnswerPart>;
  if (answer instanceof Promise) answer.catch(() => undefined);
  throw new TypeError(`the model must give its answer as an async iterable of parts, not ${nameOf(answer)}`);
}

/** What JavaScript lets pass: a text that is no part. It would be an answer of nothing. */
function requirePart(part: unknown): void {
  if (typeof part === 'object' && part !== null && 'type' in part) return;
  throw new TypeError(`a part of the model's answer must be an object as { type: 'text', text }, not ${nameOf(part)}`);
}

/** What JavaScript lets pass: a message in place of its text. */
export function requireValidInstructions(what: string, instructions: unknown): void {
  if (instructions === undefined || typeof instructions === 'string' || typeof instructions === 'function') return;
  throw new Error(
    `the instructions of ${what} must be a text or a function that gives one, not ${nameOf(instructions)}`,
  );
}

export interface OutputNodeOptions<
  S extends ModelState,
  K extends string,
  D extends JsonSchema | StandardSchema = JsonSchema,
> extends Pick<ModelNodeOptions<S>, 'model' | 'instructions'> {
  /** The field that gets the answer. */
  readonly field: K;
  /** What the answer is: a JSON Schema of type object, or a schema of a validation library that can be written as one. */
  readonly schema: D;
}

/** The type of an answer. That of a JSON Schema is not known here: `never` fits the field, whatever its type. */
type AnswerOf<D> = D extends StandardSchema ? OutputOf<D> : never;

/**
 * A node that asks a model for one value and writes it into a field, as the schema transforms it. Nothing is streamed. An answer that is
 * no JSON, or breaks the schema, fails the node; its policy says whether it is tried again.
 * @throws Error when it is given no model or an option that it does not have, or when the schema cannot be compiled, or cannot be written as JSON Schema.
 */
export function outputNode<
  S extends ModelState,
  const K extends string,
  D extends JsonSchema | StandardSchema = JsonSchema,
>(options: OutputNodeOptions<S, K, D>): (state: S, context: NodeContext) => Promise<Readonly<Record<K, AnswerOf<D>>>> {
  requireObject('what outputNode is given', options);
  refuseUnknown('what outputNode is given', '', options, outputNodeNames);
  const { model, field } = options;
  requireModel('outputNode', model);
  requireValidInstructions('outputNode', options.instructions);
  const given: JsonSchema | StandardSchema = options.schema;
  if (!isStandardSchema(given)) requireObject('the schema of outputNode', given);
  const schema = isStandardSchema(given) ? toJsonSchema(given, 'input', 'give JSON Schema') : given;
  compileSchema(schema);
  return async (state, context) => {
    const question = { ...questionOf({ ...options, tools: [] }, state, context), schema };
    let text = '';
    for await (const part of partsOf(model, question, context.signal)) {
      requirePart(part);
      if (part.type === 'text') text += part.text;
      if (part.type === 'usage') context.usage(part);
    }
    const checked = await checkOutput(readOutput(text), schema, given);
    if (checked.fault !== undefined) throw unreadable(`the answer of the model breaks its schema: ${checked.fault}`);
    return { [field]: checked.value } as Readonly<Record<K, AnswerOf<D>>>;
  };
}

const outputNodeNames: Readonly<Record<keyof OutputNodeOptions<ModelState, string>, true>> = {
  model: true,
  instructions: true,
  field: true,
  schema: true,
};

function readOutput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable('the model did not answer with JSON');
  }
}

const unreadable = (message: string): Error => new StatedError(message, { reason: 'unreadable' });

async function checkOutput(value: unknown, schema: JsonSchema, given: JsonSchema | StandardSchema): Promise<Checked> {
  const fault = schemaFault(schema, value, 'answer');
  if (fault !== undefined) return { fault };
  return isStandardSchema(given) ? checkValue(given, value, 'answer') : { value };
}

function questionOf<S extends ModelState>(
  { instructions = '', tools }: ModelNodeOptions<S>,
  state: S,
  context: NodeContext,
): ModelQuestion {
  const { context: messages, context_summary: summary } = state;
  const given = typeof instructions === 'string' ? instructions : instructions(state, context);
  const before = summary === '' ? [] : [`What was said before: ${summary}`];
  return {
    instructions: [...(given === '' ? [] : [given]), ...before].join('\n\n'),
    messages,
    tools: tools === undefined ? context.tools : context.tools.filter(({ name }) => tools.includes(name)),
  };
}
