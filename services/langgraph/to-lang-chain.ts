import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { isCall, type Block, type CallBlock, type Message } from '@agent-workflow/graph';
import { plainObject } from './plain-data.ts';

/**
 * A message of the thread as LangChain has it, under the same id. A message with the results of several tool calls becomes several, the
 * further ones under ids of their own.
 */
export function toLangChain({ message_id: id, role, content, metadata }: Message): BaseMessage[] {
  const fields = { id, content: toContent(content.filter(isContent)), ...nameOf(metadata) };
  switch (role) {
    case 'user':
      return [new HumanMessage(fields)];
    case 'system':
      return [new SystemMessage(fields)];
    case 'assistant':
      return [
        new AIMessage({
          ...fields,
          ...reasoningOf(content),
          tool_calls: content.filter(isCall).map(toCall),
          response_metadata: reasonOf(metadata),
        }),
      ];
    case 'tool':
      return content
        .filter(({ type }) => type === 'tool_result')
        .map((block, index) => toToolMessage(block, index === 0 ? id : `${id}:${String(index)}`));
  }
}

/** Models of LangChain take back no reasoning among the content that they did not write there themselves. */
const isContent = (block: Block): boolean => !isCall(block) && !isThought(block);

const isThought = ({ type, text }: Block): boolean => type === 'reasoning' && typeof text === 'string';

function reasoningOf(content: readonly Block[]): {
  readonly additional_kwargs?: { readonly reasoning_content: string };
} {
  const thought = content
    .filter(isThought)
    .map(({ text }) => text as string)
    .join('');
  return thought === '' ? {} : { additional_kwargs: { reasoning_content: thought } };
}

const reasonOf = (metadata: Message['metadata']): { readonly finish_reason?: string } =>
  typeof metadata?.['finish_reason'] === 'string' ? { finish_reason: metadata['finish_reason'] } : {};

/** A single text stays a text, as most models and nodes expect it. Blocks that are not text go as they came, but as plain data. */
function toContent(blocks: readonly Block[]): string | { type: string }[] {
  const isText = ({ type, text }: Block): boolean => type === 'text' && typeof text === 'string';
  if (blocks.every(isText)) return blocks.map(({ text }) => text as string).join('');
  return blocks.map(toPart);
}

/** An image by its address or data is one as most models of LangChain take it. */
function toPart({ provider_data: _, ...block }: Block): { type: string } {
  const { type, url } = block;
  if (type === 'image' && typeof url === 'string') return { type: 'image_url', ...{ image_url: { url } } };
  return { ...plainObject(block), type };
}

function toCall({ id, name, args }: CallBlock): NonNullable<AIMessage['tool_calls']>[number] {
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args);
  return { type: 'tool_call', id, name, args: isObject ? plainObject(args) : {} };
}

function toToolMessage({ call_id: call, output, is_error: isError }: Block, id: string): ToolMessage {
  return new ToolMessage({
    id,
    tool_call_id: String(call),
    content: typeof output === 'string' ? output : JSON.stringify(output ?? null),
    status: isError === true ? 'error' : 'success',
  });
}

const nameOf = (metadata: Message['metadata']): { readonly name?: string } =>
  typeof metadata?.['name'] === 'string' ? { name: metadata['name'] } : {};
