import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { unsupported } from '../replies/refusal.ts';
import { toCallBlock, toResultBlock } from './call.ts';
import { isObject, toBlocks, type Fields } from './content.ts';
import type { ReadMessage } from './conversation.ts';

type Read = (message: Fields, at: Loc) => ReadMessage;

/** How a message is read, by its role. */
const readers: Readonly<Record<string, Read>> = {
  system: (message, at) => spoken('system', message, at),
  developer: (message, at) => spoken('system', message, at),
  user: (message, at) => spoken('user', message, at),
  assistant: readAssistant,
  tool: readResult,
};

/** The messages of a chat completion. @throws Invalid naming the field */
export const fromChat = (messages: readonly unknown[]): ReadMessage[] =>
  messages.map((message, index) => {
    const at: Loc = ['body', 'messages', index];
    if (!isObject(message)) throw invalidAt(at, 'must be object', 'object_type');
    const { role } = message;
    if (role === 'function') throw unsupported(['messages', index, 'role'], 'use `tool` in place of `function`');
    const read = typeof role === 'string' && Object.hasOwn(readers, role) ? readers[role] : undefined;
    if (!read) throw invalidAt([...at, 'role'], `must be one of ${Object.keys(readers).join(', ')}`, 'enum');
    return read(message, at);
  });

function spoken(role: string, { content, name }: Fields, at: Loc): ReadMessage {
  if (content === undefined || content === null) throw invalidAt([...at, 'content'], 'is required', 'missing');
  return {
    role,
    content: toBlocks(content, [...at, 'content']),
    ...(typeof name === 'string' && { metadata: { name } }),
  };
}

function readAssistant(message: Fields, at: Loc): ReadMessage {
  const { content, refusal, tool_calls: calls, audio, function_call: call } = message;
  if (isObject(audio)) throw unsupported([...at.slice(1), 'audio'], 'agents here hear no answers of their own');
  if (isObject(call)) throw unsupported([...at.slice(1), 'function_call'], 'use `tool_calls`');
  const text = toBlocks(content, [...at, 'content']);
  const all = typeof refusal === 'string' && refusal !== '' ? [...text, { type: 'text', text: refusal }] : text;
  return { role: 'assistant', content: [...all, ...callBlocks(calls, [...at, 'tool_calls'])] };
}

function callBlocks(calls: unknown, at: Loc): Block[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw invalidAt(at, 'must be array', 'array_type');
  return calls.map((call: unknown, index) => {
    const place = [...at, index];
    const { id, type, function: named } = isObject(call) ? call : {};
    if (type !== undefined && type !== 'function')
      throw unsupported([...place.slice(1), 'type'], 'only calls of functions are taken');
    const { name, arguments: json } = isObject(named) ? named : {};
    return toCallBlock({ id, name, json, at: place, inFunction: true });
  });
}

function readResult({ tool_call_id: id, content }: Fields, at: Loc): ReadMessage {
  if (typeof id !== 'string' || id === '') throw invalidAt([...at, 'tool_call_id'], 'is required', 'missing');
  const blocks = toBlocks(content, [...at, 'content']);
  return resultMessage(id, typeof content === 'string' ? content : blocks);
}

/** A message with the result of one call. */
export function resultMessage(id: string, output: string | readonly Block[]): ReadMessage {
  const text =
    typeof output === 'string'
      ? output
      : output.map(({ text: part }) => (typeof part === 'string' ? part : '')).join('');
  return { role: 'tool', content: [toResultBlock(id, output)], result: { callId: id, output: text } };
}
