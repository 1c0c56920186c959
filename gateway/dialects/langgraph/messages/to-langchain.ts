import { isCall, withoutProviderData, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { LangChainCall, LangChainMessage, LangChainPart, LangChainType } from './langchain-message.ts';
import { isObject, isPlainCall, isPlainText, isPlainThought, toPart, type Fields } from './parts.ts';

const types: Readonly<Record<Message['role'], LangChainType>> = {
  user: 'human',
  assistant: 'ai',
  system: 'system',
  tool: 'tool',
};

/**
 * A message of a thread as clients of LangChain read it. The results of several calls in one message become messages of their own: the first
 * has the id of the message, the others `{id}:{index}`. What LangChain has no place for stands in `additional_kwargs.metadata`.
 */
export function toLangChain(message: Message): readonly LangChainMessage[] {
  const shown = withoutProviderData(message);
  const results = shown.role === 'tool' ? shown.content.filter(isResult) : [];
  if (results.length === 0) return [ofContent(shown)];
  const beside = shown.content.filter((block) => !isResult(block));
  return results.map((result, index) => {
    const made = ofResult(shown, result, index);
    if (index > 0 || beside.length === 0) return made;
    return { ...made, additional_kwargs: { ...made.additional_kwargs, blocks: beside } };
  });
}

/** What every message has, whatever its content. */
function commonOf({ message_id: id, metadata = {}, role }: Message): Omit<LangChainMessage, 'content'> {
  const { name, additional_kwargs: kwargs, response_metadata: response, finish_reason: reason, ...rest } = metadata;
  const { usage_metadata: usage, invalid_tool_calls: invalid, ...others } = rest;
  const isOfModel = role === 'assistant';
  const own = isOfModel ? others : rest;
  return {
    additional_kwargs: { ...(isObject(kwargs) ? kwargs : {}), ...(Object.keys(own).length > 0 && { metadata: own }) },
    response_metadata: {
      ...(isObject(response) ? response : {}),
      ...(typeof reason === 'string' && { finish_reason: reason }),
    },
    type: types[role],
    name: typeof name === 'string' ? name : null,
    id,
    ...(isOfModel && {
      tool_calls: [],
      invalid_tool_calls: Array.isArray(invalid) ? (invalid as unknown[]) : [],
      usage_metadata: totalled(usage),
    }),
  };
}

/** A text as a text, as most front ends expect it; what it does not hold stands beside it, or the whole is a list of parts. */
function ofContent(message: Message): LangChainMessage {
  const common = commonOf(message);
  const { content, role } = message;
  const calls = role === 'assistant' ? { tool_calls: content.filter(isCall).map(toCall) } : {};
  const simple = simpleOf(content, role);
  if (!simple) return { ...common, content: content.map(toPart), ...calls };
  const { text, thought } = simple;
  const kwargs = { ...common.additional_kwargs, ...(thought !== '' && { reasoning_content: thought }) };
  return { ...common, additional_kwargs: kwargs, content: text, ...calls };
}

/** A text, for a model's message with a thought before it and calls behind it; `undefined` for any other content. */
function simpleOf(
  content: readonly Block[],
  role: Message['role'],
): { readonly text: string; readonly thought: string } | undefined {
  const isOfModel = role === 'assistant';
  const [first] = content;
  const thought = isOfModel && first && isPlainThought(first) ? first.text : '';
  const behind = thought === '' ? content : content.slice(1);
  const [second] = behind;
  const text = second && isPlainText(second) ? second.text : '';
  const calls = text === '' ? behind : behind.slice(1);
  const isSimple = calls.length === 0 || (isOfModel && calls.every(isPlainCall));
  return isSimple ? { text, thought } : undefined;
}

const toCall = ({ id, name, args }: CallBlock): LangChainCall => ({
  ...{ name, args: isObject(args) ? args : {}, id, type: 'tool_call' },
});

/** Clients add the tokens of a message up by this sum. */
function totalled(usage: unknown): unknown {
  if (!isObject(usage)) return null;
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  if (total !== undefined || typeof input !== 'number' || typeof output !== 'number') return usage;
  return { ...usage, total_tokens: input + output };
}

const isResult = ({ type, call_id: id }: Block): boolean => type === 'tool_result' && typeof id === 'string';

function ofResult(message: Message, block: Block, index: number): LangChainMessage {
  const { type: _type, call_id: call, output, status, is_error: isError, artifact, ...others } = block;
  const common = commonOf(message);
  const id = index === 0 ? message.message_id : `${message.message_id}:${String(index)}`;
  const kwargs = { ...common.additional_kwargs, ...resultKwargs(others, { status, isError }) };
  return {
    ...common,
    ...toOutput(output, artifact),
    additional_kwargs: kwargs,
    ...statusOf(isError),
    id,
    ...callOf(call),
  };
}

const callOf = (call: unknown): Pick<LangChainMessage, 'tool_call_id'> => ({ tool_call_id: String(call) });
const statusOf = (isError: unknown): Pick<LangChainMessage, 'status'> => ({
  status: isError === true ? 'error' : 'success',
});

/** What a result holds beside what a message of LangChain says of it. */
function resultKwargs(others: Fields, { status, isError }: { status: unknown; isError: unknown }): Fields {
  const isUsual = status === (isError === true ? 'error' : 'completed') && typeof isError === 'boolean';
  const ending = {
    ...(!isUsual && { ...(status !== undefined && { status }), ...(isError !== undefined && { is_error: isError }) }),
  };
  const result = { ...others, ...ending };
  return isUsual && Object.keys(others).length === 0 ? {} : { tool_result: result };
}

/** The output as the text or the parts that a model gets. Any other JSON is written as text, and stands as `artifact` besides. */
function toOutput(output: unknown, artifact: unknown): Pick<LangChainMessage, 'content' | 'artifact'> {
  const own = { artifact: artifact ?? null };
  if (typeof output === 'string') return { content: output, ...own };
  if (isParts(output)) return { content: output, ...own };
  return { content: JSON.stringify(output ?? null), artifact: artifact ?? output ?? null };
}

const isParts = (output: unknown): output is readonly LangChainPart[] =>
  Array.isArray(output) &&
  output.length > 0 &&
  output.every((part) => isObject(part) && typeof part['type'] === 'string');
