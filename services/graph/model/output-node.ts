import type { NodeContext } from '../build/context.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';
import { compileSchema, schemaFault, type JsonSchema } from '../state/schema.ts';
import {
  checks,
  checkValue,
  isStandardSchema,
  toJsonSchema,
  type Checked,
  type OutputOf,
  type StandardSchema,
} from '../state/standard-schema.ts';
import { StatedError } from '../state/stated-error.ts';
import { followAnswer, filtered } from './follow-answer.ts';
import type { FinishReason } from './model.ts';
import {
  questionOf,
  requireModel,
  requireValidInstructions,
  type ModelNodeOptions,
  type ModelState,
} from './model-node.ts';

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
    const reason = await followAnswer({ model, question, context }, (part) => {
      if (part.type === 'text') text += part.text;
    });
    refuseCut(reason);
    const checked = await checkOutput(readOutput(text), schema, given);
    if (checked.fault !== undefined) throw unreadable(`the answer of the model breaks its schema: ${checked.fault}`);
    return { [field]: checked.value } as Readonly<Record<K, AnswerOf<D>>>;
  };
}

/** What was cut is no value, also where it happens to be one. */
function refuseCut(reason: FinishReason): void {
  if (reason === 'content_filter') throw filtered();
  if (reason === 'length')
    throw new StatedError('the answer of the model reached its length limit', { reason: 'answer_too_long' });
}

const outputNodeNames: Readonly<Record<keyof OutputNodeOptions<ModelState, string>, true>> = {
  model: true,
  instructions: true,
  field: true,
  schema: true,
};

function readOutput(text: string): unknown {
  try {
    return readJsonAnswer(text);
  } catch {
    throw unreadable('the model did not answer with JSON');
  }
}

const unreadable = (message: string): Error => new StatedError(message, { reason: 'unreadable' });

async function checkOutput(value: unknown, schema: JsonSchema, given: JsonSchema | StandardSchema): Promise<Checked> {
  if (isStandardSchema(given) && checks(given)) return checkValue(given, value, 'answer');
  const fault = schemaFault(schema, value, 'answer');
  return fault === undefined ? { value } : { fault };
}

/**
 * Reads the JSON of an answer. Models write it bare, in a code fence, behind what they thought, and with words around it.
 * @throws SyntaxError for an answer without JSON, or with more than one value.
 */
function readJsonAnswer(answer: string): unknown {
  const thought = answer.lastIndexOf(thoughtEnd);
  const text = thought === -1 ? answer : answer.slice(thought + thoughtEnd.length);
  for (const candidate of [answer.trim(), fenced(text), braced(text)]) {
    try {
      if (candidate !== undefined) return JSON.parse(candidate);
    } catch {
      // The next candidate is tried.
    }
  }
  throw new SyntaxError('the answer holds no JSON');
}

const thoughtEnd = '</think>';
const fence = '```';

/** What stands between the first code fence and the last one, or the end. */
function fenced(text: string): string | undefined {
  const line = text.indexOf('\n', text.indexOf(fence));
  if (!text.includes(fence) || line === -1) return undefined;
  const end = text.lastIndexOf(fence);
  return text.slice(line, end > line ? end : undefined);
}

/** From the first bracket to the last. */
function braced(text: string): string | undefined {
  const from = text.search(/[{[]/);
  return from === -1 ? undefined : text.slice(from, 1 + Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')));
}
