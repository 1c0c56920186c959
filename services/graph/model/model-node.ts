import type { Message } from '@agent-workflow/protos/message';
import type { NodeContext } from '../build/context.ts';
import { compileSchema, schemaFault, type JsonSchema } from '../state/schema.ts';
import type { Model, ModelQuestion } from './model.ts';

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
 * of tools are emitted for a tool node behind it.
 * @throws what the model throws; the policy of the node says whether it is tried again.
 */
export function modelNode<S extends ModelState>(
  options: ModelNodeOptions<S>,
): (state: S, context: NodeContext) => Promise<undefined> {
  return async (state, context) => {
    for await (const part of options.model.answer(questionOf(options, state, context), context.signal)) {
      if (part.type === 'text') context.emit(part.text);
      if (part.type === 'tool_call') context.emit({ ...part, tool_type: 'function' });
    }
  };
}

export interface OutputNodeOptions<S extends ModelState, K extends string> extends Pick<
  ModelNodeOptions<S>,
  'model' | 'instructions'
> {
  /** The field that gets the answer. */
  readonly field: K;
  /** What the answer is, as a JSON Schema of type object. */
  readonly schema: JsonSchema;
}

/**
 * A node that asks a model for one value and writes it into a field. Nothing is streamed.
 * The type of the answer is not known here: `never` fits the field, whatever its type.
 * @throws Error when the answer is no JSON or breaks the schema; the policy of the node says whether it is tried again.
 */
export function outputNode<S extends ModelState, const K extends string>(
  options: OutputNodeOptions<S, K>,
): (state: S, context: NodeContext) => Promise<Readonly<Record<K, never>>> {
  const { model, field, schema } = options;
  compileSchema(schema);
  return async (state, context) => {
    const question = { ...questionOf({ ...options, tools: [] }, state, context), schema };
    let text = '';
    for await (const part of model.answer(question, context.signal)) if (part.type === 'text') text += part.text;
    return { [field]: readOutput(text, schema) } as Readonly<Record<K, never>>;
  };
}

function readOutput(text: string, schema: JsonSchema): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('the model did not answer with JSON');
  }
  const fault = schemaFault(schema, value, 'answer');
  if (fault !== undefined) throw new Error(`the answer of the model breaks its schema: ${fault}`);
  return value;
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
