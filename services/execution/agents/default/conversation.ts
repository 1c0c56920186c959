import type { OpenAI } from 'openai';
import {
  isCall,
  textOf,
  type Block,
  type CallBlock,
  type Message,
  type State,
  type ToolDeclaration,
} from '@agent-workflow/graph';
import type { fields } from './fields.ts';

type ModelMessage = OpenAI.ChatCompletionMessageParam;

const instructions =
  'You are a helpful assistant. Use the tools that you are given when they help. ' +
  'Call `remember` when the user asks you to keep something in mind, or tells you what will matter in later conversations. ' +
  'Call `recall` before you answer what you might have been told before. It returns the nearest that is remembered, ' +
  'whether or not that has to do with the question: when it has not, say honestly that you do not know.';

/** The conversation as a model reads it. */
export function toModelMessages({
  context,
  context_summary: summary,
  user_name: name,
}: State<typeof fields>): ModelMessage[] {
  const system = [
    instructions,
    ...(name === '' ? [] : [`The user is called ${name}.`]),
    ...(summary === '' ? [] : [`What was said before: ${summary}`]),
  ].join('\n\n');
  const settled = settledCalls(context);
  return [{ role: 'system', content: system }, ...context.flatMap((message) => toModelMessage(message, settled))];
}

/** The tools of a run as a model is told of them. */
export const toModelTools = (tools: readonly ToolDeclaration[]): OpenAI.ChatCompletionTool[] =>
  tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters: { ...parameters } },
  }));

/** A model refuses a conversation with a call that has no answer, or an answer without its call: pairs alone are told. */
function settledCalls(context: readonly Message[]): ReadonlySet<unknown> {
  const blocks = context.flatMap(({ content }) => content);
  const made = new Set<unknown>(blocks.filter(isCall).map(({ id }) => id));
  return new Set(blocks.map((block) => block['call_id']).filter((id) => made.has(id)));
}

function toModelMessage({ role, content }: Message, settled: ReadonlySet<unknown>): ModelMessage[] {
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

const toCall = ({ id, name, args }: CallBlock): OpenAI.ChatCompletionMessageToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});

const toResult = (block: Block): ModelMessage => {
  const { call_id: id, output, is_error: isError } = block;
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null);
  return { role: 'tool', tool_call_id: String(id), content: isError === true ? `Error: ${text}` : text };
};
