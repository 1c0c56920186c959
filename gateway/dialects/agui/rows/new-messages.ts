import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import type { Services } from '../../common/services.ts';
import type { NewMessage } from '../../common/run-order.ts';
import { fromAgui } from '../messages/from-agui.ts';
import { wholeOf } from '../messages/to-agui.ts';
import type { AguiMessage, RunAgentInput } from '../schemas/run-input.ts';

/** So many messages are looked up at the same time. */
const atOnce = 8;

/** A thread that is there may lack so many messages of the history. */
const mostNew = 200;

/** Whether a request is likely to begin its thread: there is nothing in it that the thread has said. */
export const beginsThread = ({ messages, resume = [] }: RunAgentInput): boolean =>
  resume.length === 0 && messages.every(({ role }) => role !== 'assistant' && role !== 'tool');

/**
 * The messages of the history that the thread lacks: those behind the last one that it has. A thread that is not there yet (`isNew`) lacks all.
 * @throws Invalid
 */
export async function newMessages(
  { owner, call, input }: EndpointRequest<unknown, RunAgentInput>,
  isNew: boolean,
  { threads }: Pick<Services, 'threads'>,
): Promise<readonly NewMessage[]> {
  const { threadId, messages } = input;
  const read = (message: AguiMessage, index: number): readonly NewMessage[] =>
    [fromAgui(message, ['body', 'messages', index])].filter((made) => made !== undefined);
  if (isNew) return messages.flatMap(read);
  const isThere = (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()))) !== undefined;
  if (!isThere) return messages.flatMap(read);

  const has = async (messageId: string): Promise<boolean> =>
    (await undefinedIfNotFound(threads.getMessage({ owner, threadId, messageId }, call()))) !== undefined;
  const isKnown = async ({ id }: AguiMessage): Promise<boolean> => {
    if (await has(id)) return true;
    const whole = wholeOf(id);
    return whole !== undefined && has(whole);
  };
  for (let end = messages.length; end > 0; end -= atOnce) {
    const from = Math.max(0, end - atOnce);
    const known = await Promise.all(messages.slice(from, end).map(isKnown));
    const last = known.lastIndexOf(true);
    if (last !== -1) return behind(messages, from + last + 1, read);
    if (messages.length - from > mostNew)
      throw invalidAt(
        ['body', 'messages'],
        `has more than ${String(mostNew)} messages that the thread lacks`,
        'too_long',
      );
  }
  return behind(messages, 0, read);
}

const behind = (
  messages: readonly AguiMessage[],
  first: number,
  read: (message: AguiMessage, index: number) => readonly NewMessage[],
): readonly NewMessage[] => messages.flatMap((message, index) => (index < first ? [] : read(message, index)));
