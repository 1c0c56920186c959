import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import type { Block, Message, NewMessage } from '@agent-workflow/graph';
import { blockRules } from '@agent-workflow/protos/message';

/** Whether a value is a message of LangChain, of whichever copy of the package. */
export const isMessage = (value: unknown): value is BaseMessage =>
  typeof value === 'object' && value !== null && '_updateId' in value && 'content' in value;

/** A message of LangChain as the thread keeps it, without its id. */
export function fromLangChain(message: BaseMessage): Omit<NewMessage, 'message_id'> & { readonly content: Block[] } {
  const { name } = message;
  const usage = usageOf(message);
  const metadata = { ...(name !== undefined && { name }), ...(usage && { usage_metadata: usage }) };
  return {
    role: roleOf(message),
    content: ToolMessage.isInstance(message) ? [toResult(message)] : [...toBlocks(message), ...toCalls(message)],
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** The tokens that a model counted for its answer. */
const usageOf = (message: BaseMessage): object | undefined =>
  AIMessage.isInstance(message) ? message.usage_metadata : undefined;

function roleOf(message: BaseMessage): Message['role'] {
  const role = message.type === 'generic' ? (message as { readonly role?: unknown }).role : message.type;
  switch (role) {
    case 'ai':
    case 'assistant':
      return 'assistant';
    case 'system':
    case 'developer':
      return 'system';
    case 'tool':
      return 'tool';
    default:
      return 'user';
  }
}

function toBlocks({ content }: BaseMessage): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.flatMap((block) => toBlock(block as Block));
}

/** Kinds that providers give to the calls of a message, which stand in its `tool_calls` too. */
const callKinds = new Set(['tool_call', 'tool_call_chunk', 'tool_use', 'input_json_delta', 'function_call']);

function toBlock(block: Block): Block[] {
  const { type, text, reasoning, thinking } = block;
  if (type === 'text') return typeof text === 'string' && text !== '' ? [{ type, text }] : [];
  if (callKinds.has(type)) return [];
  const thought = reasoning ?? thinking;
  if (typeof thought === 'string') return [{ type: 'reasoning', text: thought }];
  // A block of another library may have the name of one of ours, and other fields.
  return [Object.hasOwn(blockRules, type) ? { type: 'data', data: block } : block];
}

function toCalls(message: BaseMessage): Block[] {
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return calls.map(({ id, name, args }, index) => ({
    ...{ type: 'tool_call', id: id ?? `${message.id ?? 'call'}:${String(index)}`, name, args, tool_type: 'function' },
  }));
}

function toResult({ tool_call_id: call, content, status }: ToolMessage): Block {
  const isError = status === 'error';
  const output = typeof content === 'string' ? content : content.map((block) => ({ ...block }));
  return { type: 'tool_result', call_id: call, output, status: isError ? 'error' : 'completed', is_error: isError };
}
