import { isCall, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { ToolDeclaration } from '../build/context.ts';
import type { ModelQuestion } from './model.ts';
import { resultsBehindCalls, settledCalls, toModelText, toResultText } from './settled-calls.ts';

/** A message or a tool as chat completions take it. */
type ChatObject = Readonly<Record<string, unknown>>;

/** The instructions and the conversation as chat completions take them. */
export function toChatMessages({ instructions, messages }: ModelQuestion): ChatObject[] {
  const settled = settledCalls(messages);
  const system = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return [...system, ...resultsBehindCalls(messages).flatMap((message) => toChatMessage(message, settled))];
}

/** The tools as chat completions take them. */
export const toChatTools = (tools: readonly ToolDeclaration[]): ChatObject[] =>
  tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));

function toChatMessage({ role, content }: Message, settled: ReadonlyMap<unknown, CallBlock>): ChatObject[] {
  const text = toModelText(content);
  switch (role) {
    case 'tool':
      return content.filter((block) => settled.has(block['call_id'])).map(toResult);
    case 'assistant': {
      const calls = content.filter(isCall).filter(({ id }) => settled.has(id));
      if (calls.length > 0) return [{ role, content: text === '' ? null : text, tool_calls: calls.map(toCall) }];
      return text === '' ? [] : [{ role, content: text }];
    }
    default:
      return [{ role, content: text }];
  }
}

const toCall = ({ id, name, args }: CallBlock): ChatObject => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});

function toResult(block: Block): ChatObject {
  const { call_id: id, is_error: isError } = block;
  const text = toResultText(block);
  return { role: 'tool', tool_call_id: String(id), content: isError === true ? `Error: ${text}` : text };
}
