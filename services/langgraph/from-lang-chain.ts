import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import type { Block, FinishReason, Message, NewMessage } from '@agent-workflow/graph';
import { readFinishReason } from '@agent-workflow/graph/model/finish-reason';
import { blockRules } from '@agent-workflow/protos/message';

/** Whether a value is a message of LangChain, of whichever copy of the package. */
export const isMessage = (value: unknown): value is BaseMessage =>
  typeof value === 'object' && value !== null && '_updateId' in value && 'content' in value;

/** A message of LangChain as the thread keeps it, without its id. */
export function fromLangChain(message: BaseMessage): Omit<NewMessage, 'message_id'> & { readonly content: Block[] } {
  const { name } = message;
  const usage = usageOf(message);
  const reason = reasonOf(message);
  const metadata = {
    ...(name !== undefined && { name }),
    ...(usage && { usage_metadata: usage }),
    ...(reason && { finish_reason: reason }),
    ...besideContent(message, reason),
  };
  return {
    role: roleOf(message),
    content: ToolMessage.isInstance(message) ? [toResult(message)] : [...toBlocks(message), ...toCalls(message)],
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** What providers write beside the content of a message, under the names by which LangGraph's clients read it. */
function besideContent(message: BaseMessage, reason: FinishReason | undefined): object {
  const {
    reasoning_content: thought,
    tool_calls: _,
    ...kwargs
  }: Readonly<Record<string, unknown>> = message.additional_kwargs;
  const { finish_reason: word, ...answer } = message.response_metadata;
  const isOwn = AIMessage.isInstance(message);
  const isBlock = isOwn && typeof thought === 'string';
  const members = {
    additional_kwargs: { ...kwargs, ...(!isBlock && thought !== undefined && { reasoning_content: thought }) },
    response_metadata: { ...answer, ...(word !== reason && word !== undefined && { finish_reason: word }) },
    invalid_tool_calls: isOwn ? (message.invalid_tool_calls ?? []) : [],
  };
  const filled = Object.entries(members).filter(([, value]) => Object.keys(value).length > 0);
  return Object.fromEntries(filled.flatMap(([key, value]) => [...jsonOf(value)].map((json) => [key, json])));
}

/** The value as JSON has it; none where JSON cannot hold it. */
function jsonOf(value: unknown): readonly unknown[] {
  try {
    return [JSON.parse(JSON.stringify(value)) as unknown];
  } catch {
    return [];
  }
}

/** The tokens that a model counted for its answer. */
const usageOf = (message: BaseMessage): object | undefined =>
  AIMessage.isInstance(message) ? message.usage_metadata : undefined;

/** Why the answer of a model ended: providers write it under names of their own. */
export function reasonOf({
  response_metadata: given,
}: Pick<BaseMessage, 'response_metadata'>): FinishReason | undefined {
  const word = given['finish_reason'] ?? given['finishReason'] ?? given['stop_reason'] ?? given['done_reason'];
  return typeof word === 'string' && word !== '' ? readFinishReason(word) : undefined;
}

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

function toBlocks({ content, additional_kwargs: { reasoning_content: thought } }: BaseMessage): Block[] {
  const blocks =
    typeof content === 'string'
      ? toBlock({ type: 'text', text: content })
      : content.flatMap((block) => toBlock(block as Block));
  // DeepSeek and those like it have it beside the content, others in it.
  const isBeside = typeof thought === 'string' && thought !== '' && !blocks.some(({ type }) => type === 'reasoning');
  return isBeside ? [{ type: 'reasoning', text: thought }, ...blocks] : blocks;
}

/** Kinds that providers give to the calls of a message, which stand in its `tool_calls` too. */
const callKinds = new Set(['tool_call', 'tool_call_chunk', 'tool_use', 'input_json_delta', 'function_call']);

function toBlock(block: Block): Block[] {
  const { type, text, reasoning, thinking, index: _, ...rest } = block;
  if (type === 'text') return typeof text === 'string' && text !== '' ? [{ type, text, ...ofProvider(rest) }] : [];
  if (callKinds.has(type)) return [];
  const thought = reasoning ?? thinking;
  if (typeof thought === 'string') {
    const member = reasoning === undefined ? 'thinking' : 'reasoning';
    return [{ type: 'reasoning', text: thought, ...ofProvider({ ...rest, type, member }) }];
  }
  if (type === 'image_url') {
    const { image_url: image, ...others } = rest;
    const url = typeof image === 'string' ? image : urlIn(image);
    const { url: _url, ...more } = typeof image === 'object' && image !== null ? (image as { url?: unknown }) : {};
    if (url !== undefined) return [{ type: 'image', url, ...ofProvider({ ...others, ...more }) }];
  }
  // A block of another library may have the name of one of ours, and other fields.
  return [Object.hasOwn(blockRules, type) ? { type: 'data', data: block } : block];
}

/** What a part of LangChain has beside what a block says: it is kept with the block, and no caller reads it. */
const ofProvider = (rest: object): { readonly provider_data?: { readonly langchain: unknown } } =>
  Object.keys(rest).length === 0 ? {} : { provider_data: { langchain: jsonOf(rest)[0] ?? {} } };

const urlIn = (value: unknown): string | undefined => {
  const { url } = (value ?? {}) as { readonly url?: unknown };
  return typeof url === 'string' ? url : undefined;
};

function toCalls(message: BaseMessage): Block[] {
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return calls.map(({ id, name, args }, index) => ({
    ...{ type: 'tool_call', id: id ?? `${message.id ?? 'call'}:${String(index)}`, name, args, tool_type: 'function' },
  }));
}

function toResult({ tool_call_id: call, content, status, artifact }: ToolMessage): Block {
  const isError = status === 'error';
  const output = typeof content === 'string' ? content : content.map((block) => ({ ...block }));
  const [json] = artifact === undefined || artifact === null ? [] : jsonOf(artifact);
  return {
    ...{ type: 'tool_result', call_id: call, output, status: isError ? 'error' : 'completed', is_error: isError },
    ...(json !== undefined && { artifact: json }),
  };
}
