import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { isCall, type Block, type CallBlock, type Message } from '@agent-workflow/graph';
import { plainData, plainObject } from './plain-data.ts';

/**
 * A message of the thread as LangChain has it, under the same id. A message with the results of several tool calls becomes several, the
 * further ones under ids of their own.
 */
export function toLangChain({ message_id: own, role, content, metadata }: Message): BaseMessage[] {
  const known = metadata?.[idName];
  const id = typeof known === 'string' ? known : own;
  const beside = besideContent(metadata);
  const fields = { id, content: toContent(content.filter(isContent)), ...nameOf(metadata), ...beside };
  switch (role) {
    case 'user':
      return [new HumanMessage(fields)];
    case 'system':
      return [new SystemMessage(fields)];
    case 'assistant':
      return [
        new AIMessage({
          ...fields,
          additional_kwargs: { ...beside.additional_kwargs, ...reasoningOf(content) },
          tool_calls: content.filter(isCall).map(toCall),
          response_metadata: { ...reasonOf(metadata), ...beside.response_metadata },
          ...ofAnswer(metadata),
        }),
      ];
    case 'tool':
      return content
        .filter(({ type }) => type === 'tool_result')
        .map((block, index) => toToolMessage(block, { ...fields, id: index === 0 ? id : `${id}:${String(index)}` }));
  }
}

/** The member of a message's metadata that has its id in LangGraph, where that is another than in the thread. */
export const idName = 'langchain_id';

/** What providers wrote beside the content, as plain data. */
function besideContent(metadata: Message['metadata'] = {}): {
  readonly additional_kwargs: Record<string, unknown>;
  readonly response_metadata: Record<string, unknown>;
} {
  const { additional_kwargs: kwargs, response_metadata: answer } = metadata;
  return { additional_kwargs: membersOf(kwargs), response_metadata: membersOf(answer) };
}

const membersOf = (value: unknown): Record<string, unknown> => (isObject(value) ? plainObject(value) : {});

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What only an answer of a model has. */
function ofAnswer({
  usage_metadata: usage,
  invalid_tool_calls: invalid,
}: NonNullable<Message['metadata']> = {}): object {
  return {
    ...(isObject(usage) && { usage_metadata: plainObject(usage) }),
    ...(Array.isArray(invalid) && { invalid_tool_calls: plainData(invalid) }),
  };
}

/** Models of LangChain take back no reasoning among the content that they did not write there themselves. */
const isContent = (block: Block): boolean => !isCall(block) && !isThought(block);

const isThought = (block: Block): boolean =>
  block.type === 'reasoning' && typeof block['text'] === 'string' && partOf(block) === undefined;

/** What a part of LangChain had beside what its block says. */
function partOf({ provider_data: data }: Block): Record<string, unknown> | undefined {
  const part: unknown = isObject(data) && 'langchain' in data ? data.langchain : undefined;
  return isObject(part) ? plainObject(part) : undefined;
}

function reasoningOf(content: readonly Block[]): { readonly reasoning_content?: string } {
  const thought = content
    .filter(isThought)
    .map(({ text }) => text as string)
    .join('');
  return thought === '' ? {} : { reasoning_content: thought };
}

const reasonOf = (metadata: Message['metadata']): { readonly finish_reason?: string } =>
  typeof metadata?.['finish_reason'] === 'string' ? { finish_reason: metadata['finish_reason'] } : {};

/** A single text stays a text, as most models and nodes expect it. Blocks that are not text go as they came, but as plain data. */
function toContent(blocks: readonly Block[]): string | { type: string }[] {
  const isText = (block: Block): boolean =>
    block.type === 'text' && typeof block['text'] === 'string' && partOf(block) === undefined;
  if (blocks.every(isText)) return blocks.map(({ text }) => text as string).join('');
  return blocks.map(toPart);
}

/** An image by its address or data is one as most models of LangChain take it. */
function toPart(given: Block): { type: string } {
  const { provider_data: _, ...block } = given;
  const { type, url, text } = block;
  const { member, detail, ...part } = partOf(given) ?? {};
  if (type === 'image' && typeof url === 'string')
    return { ...part, type: 'image_url', ...{ image_url: { url, ...(detail !== undefined && { detail }) } } };
  if (type === 'reasoning' && typeof member === 'string') return { type, ...part, [member]: text };
  if (type === 'text') return { ...part, ...plainObject(block), type };
  return { ...plainObject(block), type };
}

function toCall({ id, name, args }: CallBlock): NonNullable<AIMessage['tool_calls']>[number] {
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args);
  return { type: 'tool_call', id, name, args: isObject ? plainObject(args) : {} };
}

function toToolMessage(
  { call_id: call, output, is_error: isError, artifact }: Block,
  fields: Omit<ConstructorParameters<typeof ToolMessage>[0] & object, 'content' | 'tool_call_id'>,
): ToolMessage {
  return new ToolMessage({
    ...fields,
    tool_call_id: String(call),
    content: isParts(output) ? output.map((part) => ({ ...plainObject(part), type: part.type })) : toText(output),
    status: isError === true ? 'error' : 'success',
    ...(artifact !== undefined && { artifact: plainData(artifact) }),
  });
}

const toText = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output ?? null));

const isParts = (output: unknown): output is readonly { readonly type: string }[] =>
  Array.isArray(output) &&
  output.length > 0 &&
  output.every((part: unknown) => isObject(part) && 'type' in part && typeof part.type === 'string');

const nameOf = (metadata: Message['metadata']): { readonly name?: string } =>
  typeof metadata?.['name'] === 'string' ? { name: metadata['name'] } : {};
