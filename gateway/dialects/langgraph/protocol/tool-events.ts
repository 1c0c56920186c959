import type { RunEvent } from '@agent-workflow/protos/execution';
import { isCall, type Block, type Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import { toLangChain } from '../messages/to-langchain.ts';

/**
 * Makes the events of tools, as JSON. A tool starts when the call of it has come, and ends with its result: each has one event, made of the first
 * event that has it, be it a chunk or a whole message.
 */
export function createToolEvents(): (event: RunEvent) => string[] {
  const started = new Set<string>();
  const finished = new Set<string>();

  const ofCall = (block: Block): string[] => {
    if (!isCall(block) || started.has(block.id)) return [];
    const { id, name, args } = block;
    started.add(id);
    return [JSON.stringify({ event: 'tool-started', tool_call_id: id, tool_name: name, input: args })];
  };

  const ofResult = (block: Block, message: Pick<Message, 'message_id'>): string[] => {
    const { type, call_id: id, is_error: isError } = block;
    if (type !== 'tool_result' || typeof id !== 'string' || finished.has(id)) return [];
    finished.add(id);
    const [output] = toLangChain({ ...message, role: 'tool', content: [block], timestamp: '' });
    if (isError !== true) return [JSON.stringify({ event: 'tool-finished', tool_call_id: id, output })];
    const content = output?.content ?? '';
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    return [JSON.stringify({ event: 'tool-error', tool_call_id: id, message: text })];
  };

  return ({ role, messageId = '', data, message }: RunEvent): string[] => {
    if (role !== 'assistant' && role !== 'tool') return [];
    const eventsOf = (block: Block): string[] =>
      role === 'assistant' ? ofCall(block) : ofResult(block, { message_id: messageId });
    if (message) return (JSON.parse(jsonText(message)) as Message).content.flatMap(eventsOf);
    const json = jsonText(data);
    return json.startsWith('{') ? eventsOf(JSON.parse(json) as Block) : [];
  };
}
