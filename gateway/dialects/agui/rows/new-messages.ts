import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Thread } from '@agent-workflow/protos/threads';
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

/** What a page brings to a thread. */
interface Brought {
  readonly messages: readonly NewMessage[];
  /** Whether it has any message of the thread. */
  readonly knowsThread: boolean;
}

/**
 * The messages of the history that the thread lacks: those behind the last one that it has. A thread that is not there yet lacks all.
 * @throws Invalid
 */
export async function newMessages(
  { owner, call, input }: EndpointRequest<unknown, RunAgentInput>,
  thread: Thread | undefined,
  { threads }: Pick<Services, 'threads'>,
): Promise<Brought> {
  const { threadId, messages } = input;
  const from = (first: number): Brought => {
    const isNew = thread?.runId === undefined ? () => true : isOfPage(input, thread, first);
    const brought = messages.flatMap((message, index) => {
      if (index < first || !isNew(message)) return [];
      return fromAgui(message, ['body', 'messages', index]) ?? [];
    });
    return { messages: brought, knowsThread: first > 0 };
  };
  if (!thread) return from(0);

  const has = async (messageId: string): Promise<boolean> =>
    (await undefinedIfNotFound(threads.getMessage({ owner, threadId, messageId }, call()))) !== undefined;
  const isKnown = async ({ id }: AguiMessage): Promise<boolean> => {
    if (await has(id)) return true;
    const whole = wholeOf(id);
    return whole !== undefined && has(whole);
  };
  for (let end = messages.length; end > 0; end -= atOnce) {
    const start = Math.max(0, end - atOnce);
    const known = await Promise.all(messages.slice(start, end).map(isKnown));
    const last = known.lastIndexOf(true);
    if (last !== -1) return from(start + last + 1);
    if (messages.length - start > mostNew)
      throw invalidAt(
        ['body', 'messages'],
        `has more than ${String(mostNew)} messages that the thread lacks`,
        'too_long',
      );
  }
  return from(0);
}

/**
 * Whether the thread takes a message that it lacks, from the first of them on. What its runs say is not taken from a page: of a message it has a half where it
 * left the stream, and of a step that was made again it has what is gone; the run puts its own into the thread. A result of a tool is
 * taken where the tool is one of the page, where the thread waits for results, and where nothing else is new: the thread refuses it then.
 */
function isOfPage(
  { messages, tools = [] }: RunAgentInput,
  { activeRunId, waitsFor }: Thread,
  first: number,
): (message: AguiMessage) => boolean {
  const waits = activeRunId === undefined && waitsFor === 'tool_results';
  const isAlone = messages.slice(first).every(({ role }) => role === 'assistant' || role === 'tool');
  const names = new Map(
    messages.flatMap(({ toolCalls = [] }) => toolCalls.map((made) => [made.id, made.function.name])),
  );
  const ofPage = new Set(tools.map(({ name }) => name));
  return ({ role, toolCallId = '' }) => {
    if (role !== 'tool' || waits || isAlone) return role !== 'assistant';
    const name = names.get(toolCallId);
    return name === undefined || ofPage.has(name);
  };
}
