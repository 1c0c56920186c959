import { sizes } from '@agent-workflow/kit/sizes';
import { answeredCalls, isCall, readEntry } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { invalidAt } from '../../http/fields.ts';
import type { NewMessage } from './run-order.ts';

/**
 * The messages of a body as they are stored: with an id, a timestamp and content blocks.
 * @throws Invalid, which names the message, for one that is malformed, too large, or has the id of another, and the block for a second
 * result of one call.
 */
export const toEntries = (
  messages: readonly NewMessage[],
  newId: (what: string) => string,
  now = new Date(),
): MessageEntry[] => {
  let bytes = 0;
  const indexes = new Map<string, number>();
  const answered = new Set<string>();
  return messages.map((given, index) => {
    const fresh = { now, newId: () => newId(`message ${String(index)}`) };
    const entry = readEntry(given, ['messages', index], fresh);
    const same = indexes.get(entry.messageId);
    if (same !== undefined)
      throw invalidAt(
        ['body', 'messages', index, 'message_id'],
        `is that of message ${String(same)}, too`,
        'message_id',
      );
    indexes.set(entry.messageId, index);
    noteResults(given, index, answered);
    bytes += Buffer.byteLength(entry.messageId) + entry.json.byteLength;
    // What follows is not measured.
    if (bytes > sizes.input)
      throw invalidAt(['body', 'messages'], `is larger than ${String(sizes.input)} bytes`, 'too_large');
    return entry;
  });
};

/**
 * Notes the calls that a message answers. The APIs of models refuse a context in which a call has two results. Some models name their
 * calls alike in each turn: a further call of the same id may have a result of its own.
 * @throws Invalid for a result of a call that is answered
 */
function noteResults({ content }: NewMessage, index: number, answered: Set<string>): void {
  if (typeof content === 'string') return;
  for (const [at, block] of content.entries()) {
    if (isCall(block)) answered.delete(block.id);
    const [call] = answeredCalls({ content: [block] });
    if (call === undefined) continue;
    if (answered.has(call))
      throw invalidAt(
        ['body', 'messages', index, 'content', at, 'call_id'],
        'is that of a result before it in this request',
        'call_id',
      );
    answered.add(call);
  }
}
