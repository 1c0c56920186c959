import { newId } from '@agent-workflow/kit/ids';
import { callsOf, type Message, isCall } from '@agent-workflow/protos/message';
import type { NodeContext } from '../build/context.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';
import type { JsonSchema } from '../state/schema.ts';
import { nameOf } from '../state/name-of.ts';
import { followAnswer, type TakenPart } from './follow-answer.ts';
import type { CallPart, FinishReason, Model, ModelQuestion } from './model.ts';
import { toModelNames } from '../build/model-names.ts';

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
 * of tools are emitted for a tool node after it, and the tokens that the model counts are reported as usage. Where `config.output_schema` of the run
 * is a JSON Schema, the text of the answer is to be JSON of it.
 * @throws Error at once when it is given no model or an option that it does not have, and in a run what the model throws; the policy of the node says whether it is tried again.
 */
export function modelNode<S extends ModelState>(
  options: ModelNodeOptions<S>,
): (state: S, context: NodeContext) => Promise<undefined> {
  requireObject('what modelNode is given', options);
  refuseUnknown('what modelNode is given', '', options, modelNodeNames);
  requireModel('modelNode', options.model);
  requireValidInstructions('modelNode', options.instructions);
  const { model } = options;
  return async (state, context) => {
    const asked = { ...questionOf(options, state, context), ...schemaOf(context) };
    const { question, nameOf: nameOfTool } = withSentNames(asked);
    const cut: CallPart[] = [];
    const isNew = createNewIds(question.messages);
    const reason = await followAnswer({ model, question, context, messageId: context.messageId }, (part) => {
      if (part.type !== 'tool_call') {
        emitChunk(part, context);
        return;
      }
      const named = { ...part, name: nameOfTool(part.name) };
      const call = isNew(part.id) ? named : { ...named, id: newId() };
      context.emit({ ...call, tool_type: 'function' });
      if (call.cut) cut.push(call);
    });
    answerCut(cut, reason, context);
    return undefined;
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

/** What JavaScript lets pass: a message in place of its text. */
export function requireValidInstructions(what: string, instructions: unknown): void {
  if (instructions === undefined || typeof instructions === 'string' || typeof instructions === 'function') return;
  throw new Error(
    `the instructions of ${what} must be a text or a function that gives one, not ${nameOf(instructions)}`,
  );
}

/** The question that a node asks about the state. */
export function questionOf<S extends ModelState>(
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
    files: context.files,
    tools: tools === undefined ? context.tools : context.tools.filter(({ name }) => tools.includes(name)),
  };
}

/** What the request of the run asks the answer to be. */
function schemaOf({ config }: NodeContext): Pick<ModelQuestion, 'schema'> {
  const { output_schema: schema } = config;
  const isSchema = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
  return isSchema ? { schema: schema as JsonSchema } : {};
}

/** Text is emitted as text: a block of its own only where something of the provider stands with it. */
function emitChunk(part: Exclude<TakenPart, CallPart>, { emit }: NodeContext): void {
  emit(part.type === 'text' && !part.provider_data ? part.text : part);
}

/** Some providers number the calls of each answer anew. Here an id names one call of a conversation. */
function createNewIds(messages: readonly Message[]): (id: string) => boolean {
  const known = new Set(messages.flatMap(callsOf));
  return (id) => known.size < known.add(id).size;
}

/** Answers calls that are not whole, in the step that made them: nothing can run them, and the model reads why. */
function answerCut(calls: readonly CallPart[], reason: FinishReason, { openMessage }: NodeContext): void {
  if (calls.length === 0) return;
  const { emit } = openMessage('tool');
  for (const { id } of calls)
    emit({ type: 'tool_result', call_id: id, output: cutWords[reason], status: 'error', is_error: true });
}

const notRun = 'Nothing was run.';
const notWhole = `arguments must be object: the call is not whole. ${notRun}`;
const cutWords: Readonly<Record<FinishReason, string>> = {
  length: `The answer reached its length limit before this call was whole. ${notRun} Make the call again with shorter arguments.`,
  content_filter: `The provider filtered the answer before this call was whole. ${notRun}`,
  stop: notWhole,
  tool_calls: notWhole,
  unknown: `The answer ended before this call was whole. ${notRun} Make it again.`,
  error: `The answer ended before this call was whole. ${notRun} Make it again.`,
};

/** The question with names of tools that every provider takes, in its tools and in the calls of its messages. A name that is one stays. */
function withSentNames(question: ModelQuestion): { question: ModelQuestion; nameOf: (sent: string) => string } {
  const { tools, messages } = question;
  const calls = messages.flatMap(({ content }) => content.filter(isCall));
  const names = toModelNames([...tools, ...calls].map(({ name }) => name));
  const changed = [...names].filter(([name, sent]) => name !== sent);
  if (changed.length === 0) return { question, nameOf: (sent) => sent };
  const given = new Map(changed.map(([name, sent]) => [sent, name]));
  const rename = <T extends { readonly name: string }>(named: T): T => ({
    ...named,
    name: names.get(named.name) ?? named.name,
  });
  return {
    question: {
      ...question,
      tools: tools.map(rename),
      messages: messages.map((message) =>
        message.content.some(isCall)
          ? { ...message, content: message.content.map((block) => (isCall(block) ? rename(block) : block)) }
          : message,
      ),
    },
    nameOf: (sent) => given.get(sent) ?? sent,
  };
}
