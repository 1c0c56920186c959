import { invalid } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Message } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { jsonBytes } from '../replies/json.ts';
import { idText } from '../schemas/common.ts';
import type { NewMessage } from '../schemas/messages.ts';

/**
 * The messages of a body as they enter the log: with an id, a time and content blocks. Fields and blocks that we do not
 * know are kept.
 * @throws Invalid naming the message that is too large, or whose time cannot be read.
 */
export function toEntries(
  messages: readonly NewMessage[],
  newId: (what: string) => string,
  now = new Date(),
): MessageEntry[] {
  return messages.map((given, index) => {
    const message = toMessage(given, index, { now, newId });
    const json = jsonBytes(message);
    if (json.length > sizes.message) {
      throw invalid(['body', 'messages', index], `is larger than ${String(sizes.message)} bytes`, 'too_large');
    }
    return { messageId: message.message_id, json };
  });
}

/** What a message gets where it brings none. */
interface Fresh {
  readonly now: Date;
  readonly newId: (what: string) => string;
}

function toMessage(given: NewMessage, index: number, { now, newId }: Fresh): Message {
  const { message_id, role, content, timestamp, ...rest } = given;
  return {
    message_id: toMessageId(message_id) ?? newId(`message ${String(index)}`),
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    ...rest,
    timestamp: toTimestamp(timestamp, index, now),
  };
}

/** Absent, null, empty and 0 ask for a new id. */
function toMessageId(id: string | number | null | undefined): string | undefined {
  const text = idText(id ?? '');
  return text === '' || text === '0' ? undefined : text;
}

function toTimestamp(given: string | undefined, index: number, now: Date): string {
  const time = given === undefined ? now : new Date(given);
  if (Number.isNaN(time.getTime())) {
    throw invalid(['body', 'messages', index, 'timestamp'], 'must be an ISO 8601 time', 'datetime_parsing');
  }
  return time.toISOString();
}
