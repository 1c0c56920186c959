import { readEntry } from '@agent-workflow/protos/message-rules';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { NewMessage } from '../schemas/messages.ts';

/**
 * The messages of a body as they enter the log: with an id, a time and content blocks.
 * @throws Invalid naming the message that is none, or is too large.
 */
export const toEntries = (
  messages: readonly NewMessage[],
  newId: (what: string) => string,
  now = new Date(),
): MessageEntry[] =>
  messages.map((given, index) =>
    readEntry(given, ['body', 'messages', index], { now, newId: () => newId(`message ${String(index)}`) }),
  );
