import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { unsupported } from '../replies/refusal.ts';
import { toCallBlock } from './call.ts';
import { isObject, toBlocks, type Fields } from './content.ts';
import type { ReadMessage } from './conversation.ts';
import { resultMessage } from './from-chat.ts';

/** The role of a message of the service, by that of an item. */
const roles: Readonly<Record<string, string>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
};

/** The input of a response: a text of the user, or items. @throws Invalid naming the item */
export function fromItems(input: string | readonly unknown[] | undefined, field = 'input'): ReadMessage[] {
  if (input === undefined || input === '') return [];
  if (typeof input === 'string') return [{ role: 'user', content: [{ type: 'text', text: input }] }];
  return input.reduce<ReadMessage[]>((messages, item, index) => {
    const message = fromItem(item, ['body', field, index]);
    const last = messages.at(-1);
    // What a model gave at once is one message: the APIs of models take results only behind all calls of a message.
    if (message.role !== 'assistant' || last?.role !== 'assistant') return [...messages, message];
    const content = [...(last.content as readonly Block[]), ...(message.content as readonly Block[])];
    return [...messages.slice(0, -1), { ...last, content }];
  }, []);
}

function fromItem(item: unknown, at: Loc): ReadMessage {
  if (!isObject(item)) throw invalidAt(at, 'must be object', 'object_type');
  const { type = 'message' } = item;
  switch (type) {
    case 'message':
      return fromMessage(item, at);
    case 'function_call':
      return {
        role: 'assistant',
        content: [toCallBlock({ id: item['call_id'], name: item['name'], json: item['arguments'], at })],
      };
    case 'function_call_output':
      return fromOutput(item, at);
    case 'reasoning':
      return { role: 'assistant', content: thoughtBlocks(item, at) };
    default:
      throw unsupported([...at.slice(1), 'type'], `items of the type "${String(type).slice(0, 64)}" are not taken`);
  }
}

function fromMessage({ role, content }: Fields, at: Loc): ReadMessage {
  const known = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined;
  if (known === undefined) throw invalidAt([...at, 'role'], `must be one of ${Object.keys(roles).join(', ')}`, 'enum');
  if (content === undefined || content === null) throw invalidAt([...at, 'content'], 'is required', 'missing');
  return { role: known, content: toBlocks(content, [...at, 'content']) };
}

function fromOutput({ call_id: id, output }: Fields, at: Loc): ReadMessage {
  if (typeof id !== 'string' || id === '') throw invalidAt([...at, 'call_id'], 'is required', 'missing');
  return resultMessage(id, typeof output === 'string' ? output : toBlocks(output, [...at, 'output']));
}

function thoughtBlocks({ content, summary }: Fields, at: Loc): Block[] {
  const parts = [content, summary].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return parts.map((part, index) => {
    const text = isObject(part) ? part['text'] : undefined;
    if (typeof text !== 'string') throw invalidAt([...at, 'content', index, 'text'], 'must be string', 'string_type');
    return { type: 'reasoning', text };
  });
}
