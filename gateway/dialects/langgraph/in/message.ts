import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { NewMessage } from '../../common/run-order.ts';

type Fields = Readonly<Record<string, unknown>>;

const roles: Readonly<Record<string, string>> = {
  ...{ human: 'user', user: 'user', ai: 'assistant', assistant: 'assistant', AIMessageChunk: 'assistant' },
  ...{ system: 'system', developer: 'system', tool: 'tool' },
};

/** A message that a caller sent in LangChain's shape: a text, a role and a content, or an object. @throws Invalid */
export function fromLangChain(given: unknown, loc: Loc): NewMessage {
  const fields = fieldsOf(given, loc);
  const kind = fields['type'] ?? fields['role'];
  if (kind === 'remove') throw invalidAt(loc, 'cannot be removed: a message of a thread is deleted by itself');
  const role = typeof kind === 'string' && Object.hasOwn(roles, kind) ? roles[kind] : undefined;
  if (role === undefined) throw invalidAt([...loc, 'type'], `must be one of ${Object.keys(roles).join(', ')}`, 'enum');
  const { id } = fields;
  const content = role === 'tool' ? [resultOf(fields, loc)] : contentOf(fields, loc);
  return { ...(typeof id === 'string' && id !== '' && { message_id: id }), role, content };
}

function fieldsOf(given: unknown, loc: Loc): Fields {
  if (typeof given === 'string') return { type: 'human', content: given };
  if (Array.isArray(given) && given.length === 2) return { role: given[0] as unknown, content: given[1] as unknown };
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Fields;
  throw invalidAt(loc, 'must be a message: an object, a pair of role and content, or a text');
}

function contentOf({ content, tool_calls: calls }: Fields, loc: Loc): string | readonly Block[] {
  const called = Array.isArray(calls) ? (calls as readonly Fields[]) : [];
  const blocks = called.map(({ id, name, args }) => ({ type: 'tool_call', id, name, args }));
  if (typeof content === 'string') {
    if (blocks.length === 0) return content;
    return content === '' ? blocks : [{ type: 'text', text: content }, ...blocks];
  }
  if (content === undefined || content === null) return blocks;
  if (!Array.isArray(content)) throw invalidAt([...loc, 'content'], 'must be a string or an array');
  const parts = (content as readonly unknown[]).map((part) =>
    typeof part === 'string' ? { type: 'text', text: part } : part,
  );
  return [...(parts as readonly Block[]), ...blocks];
}

function resultOf({ tool_call_id: call, content, status }: Fields, loc: Loc): Block {
  if (typeof call !== 'string' || call === '') throw invalidAt([...loc, 'tool_call_id'], 'is required', 'missing');
  const isError = status === 'error';
  return {
    type: 'tool_result',
    call_id: call,
    output: content,
    status: isError ? 'error' : 'completed',
    is_error: isError,
  };
}
