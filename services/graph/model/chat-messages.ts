import { isCall, textOf, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { ToolDeclaration } from '../build/context.ts';
import type { ModelQuestion } from './model.ts';

/** A message as chat completions take it. */
type ChatMessage = Readonly<Record<string, unknown>>;

/** The instructions and the conversation as chat completions take them. */
export function toChatMessages({ instructions, messages }: ModelQuestion): ChatMessage[] {
  const settled = settledCalls(messages);
  const system = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return [...system, ...messages.flatMap((message) => toChatMessage(message, settled))];
}

export const toChatTools = (tools: readonly ToolDeclaration[]): ChatMessage[] =>
  tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));

/** A model refuses a conversation with a call without its answer, or an answer without its call: only pairs are sent. */
function settledCalls(messages: readonly Message[]): ReadonlySet<unknown> {
  const blocks = messages.flatMap(({ content }) => content);
  const made = new Set<unknown>(blocks.filter(isCall).map(({ id }) => id));
  return new Set(blocks.map((block) => block['call_id']).filter((id) => made.has(id)));
}

function toChatMessage({ role, content }: Message, settled: ReadonlySet<unknown>): ChatMessage[] {
  const text = toText(content);
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

/** Text as it is, and what a text model cannot take by its kind, so that it may say so. */
const toText = (content: readonly Block[]): string =>
  content
    .filter((block) => !isCall(block) && block.type !== 'reasoning')
    .map((block) => (block.type === 'text' ? textOf({ content: [block] }) : `[${block.type}]`))
    .join('');

const toCall = ({ id, name, args }: CallBlock): ChatMessage => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});

const toResult = (block: Block): ChatMessage => {
  const { call_id: id, output, is_error: isError } = block;
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null);
  return { role: 'tool', tool_call_id: String(id), content: isError === true ? `Error: ${text}` : text };
};
