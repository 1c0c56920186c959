import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { jsonInText } from '../../common/json-in-text.ts';
import { isQuestionId } from '../../common/questions.ts';
import type { NewMessage } from '../../common/run-order.ts';
import type { AguiMessage } from '../schemas/run-input.ts';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A message of AG-UI as one of a thread; `undefined` for what only the page shows: activities, what a model thought, and the result that a page gives a
 * question, whose answer stands in `resume`. @throws Invalid
 */
export function fromAgui(message: AguiMessage, loc: Loc): NewMessage | undefined {
  const { id: message_id, role } = message;
  switch (role) {
    case 'user':
      return { message_id, role, content: contentOf(message.content, loc) };
    case 'system':
    case 'developer':
      return { message_id, role: 'system', content: contentOf(message.content, loc) };
    case 'assistant':
      return { message_id, role, content: [...textBlocks(message, loc), ...callsIn(message, loc)] };
    case 'tool':
      if (answersQuestion(message)) return undefined;
      return { message_id, role, content: [resultOf(message, loc)] };
    default:
      return undefined;
  }
}

/** Whether a message is the result of a question, as if that were a call. */
export const answersQuestion = ({ role, toolCallId = '' }: AguiMessage): boolean =>
  role === 'tool' && isQuestionId(toolCallId);

function textBlocks({ content }: AguiMessage, loc: Loc): readonly Block[] {
  const blocks = content === undefined || content === null || content === '' ? [] : contentOf(content, loc);
  return typeof blocks === 'string' ? [{ type: 'text', text: blocks }] : blocks;
}

function contentOf(content: unknown, loc: Loc): string | readonly Block[] {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidAt([...loc, 'content'], 'must be a string or an array of parts');
  return content.map((part: unknown, index) => partOf(part, [...loc, 'content', index]));
}

/** One part: a text, or a file that its source names. */
function partOf(part: unknown, loc: Loc): Block {
  if (!isObject(part) || typeof part['type'] !== 'string') throw invalidAt(loc, 'must be a part with a type');
  const { type, text, source, metadata, id: _, ...rest } = part;
  if (type === 'text') {
    if (typeof text !== 'string') throw invalidAt([...loc, 'text'], 'must be a string');
    return { type, text };
  }
  if (!isObject(source)) return { type, ...rest, ...(metadata !== undefined && { metadata }) };
  const { type: kind, value, mimeType } = source;
  if (typeof value !== 'string') throw invalidAt([...loc, 'source', 'value'], 'must be a string');
  const mime = typeof mimeType === 'string' ? mimeType : undefined;
  const more = { ...(mime !== undefined && { mimeType: mime }), ...(metadata !== undefined && { metadata }) };
  if (kind === 'url') return { type, url: value, ...more };
  if (kind === 'data') return { type, data: value, ...more };
  throw invalidAt([...loc, 'source', 'type'], 'must be data or url: a file at a provider cannot be read here');
}

function callsIn({ toolCalls = [] }: AguiMessage, loc: Loc): readonly Block[] {
  return toolCalls.map(({ id, function: { name, arguments: text } }, index) => ({
    ...{ type: 'tool_call', id, name, tool_type: 'function' },
    args: argsOf(text, [...loc, 'toolCalls', index, 'function', 'arguments']),
  }));
}

function argsOf(text: string, loc: Loc): Fields {
  const args = text.trim() === '' ? {} : jsonInText(text, loc);
  if (!isObject(args)) throw invalidAt(loc, 'must be the JSON of an object');
  return args;
}

function resultOf({ toolCallId, content, error }: AguiMessage, loc: Loc): Block {
  if (toolCallId === undefined) throw invalidAt([...loc, 'toolCallId'], 'is required', 'missing');
  return {
    ...{ type: 'tool_result', call_id: toolCallId, output: content ?? '' },
    ...(error !== undefined && { is_error: true, ...((content ?? '') === '' && { output: error }) }),
  };
}
