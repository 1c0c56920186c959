import { isCall, textOf, type Block, type Message } from '@agent-workflow/protos/message';

/** A message as LangChain's clients read it. */
interface LangChainMessage {
  readonly type: 'human' | 'ai' | 'system' | 'tool';
  readonly id: string;
  readonly content: unknown;
  readonly [field: string]: unknown;
}

const types = { user: 'human', assistant: 'ai', system: 'system', tool: 'tool' } as const;

/** A message of a thread in LangChain's shape; each result of a tool message is one of its own. */
export function toLangChain(message: Message): readonly LangChainMessage[] {
  const { message_id: id, role, content } = message;
  const common = { additional_kwargs: {}, response_metadata: {}, type: types[role], name: null, id };
  const results = role === 'tool' ? content.filter(({ type }) => type === 'tool_result') : [];
  if (results.length > 0) return results.map((result, index) => ({ ...common, ...ofResult(result, id, index) }));
  if (role !== 'assistant') return [{ ...common, content: contentOf(message) }];
  const calls = content
    .filter(isCall)
    .map((call) => ({ name: call.name, args: call.args, id: call.id, type: 'tool_call' }));
  const own = { tool_calls: calls, invalid_tool_calls: [], usage_metadata: null };
  return [{ ...common, content: contentOf({ content: content.filter((block) => !isCall(block)) }), ...own }];
}

/** A text as a text, and blocks of other types as they are. */
const contentOf = (message: Pick<Message, 'content'>): unknown =>
  message.content.every(({ type }) => type === 'text') ? textOf(message) : message.content;

const ofResult = ({ call_id: call, output, is_error: isError }: Block, id: string, index: number) => ({
  id: index === 0 ? id : `${id}:${String(index)}`,
  content: typeof output === 'string' ? output : JSON.stringify(output ?? null),
  tool_call_id: call,
  status: isError === true ? 'error' : 'success',
});
