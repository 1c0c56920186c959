import { sizes } from '@agent-workflow/kit/sizes';
import { readEntry } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { invalidAt } from '../../http/fields.ts';
import { tooLarge } from '../common/bounded.ts';
import type { NewMessage } from '../../schemas/messages.ts';

/**
 * The messages of a body as they enter the log: with an id, a time and content blocks.
 * @throws Invalid naming the message that is none, is too large, or has the id of another.
 */
export const toEntries = (
  messages: readonly NewMessage[],
  newId: (what: string) => string,
  now = new Date(),
): MessageEntry[] => {
  let bytes = 0;
  const places = new Map<string, number>();
  return messages.map((given, index) => {
    const fresh = { now, newId: () => newId(`message ${String(index)}`) };
    const entry = readEntry(given, ['messages', index], fresh);
    const same = places.get(entry.messageId);
    if (same !== undefined)
      throw invalidAt(
        ['body', 'messages', index, 'message_id'],
        `is that of message ${String(same)}, too`,
        'message_id',
      );
    places.set(entry.messageId, index);
    bytes += Buffer.byteLength(entry.messageId) + entry.json.byteLength;
    if (bytes > sizes.input) throw tooLarge(['body', 'messages'], sizes.input);
    return entry;
  });
};
