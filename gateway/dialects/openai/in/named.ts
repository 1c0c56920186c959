import type { Named } from '../../../http/dialect.ts';
import { readCallId } from '../ids/call-id.ts';
import { readId } from '../ids/shown-id.ts';
import { isObject, type Fields } from '../messages/content.ts';

/**
 * What an input names, for authorization: the agent of its `model`, and the thread that it goes on in, by its id, by the response before, or by the
 * run whose calls it brings results of. Of metadata a chat completion alone reads a thread.
 */
export function namedIn({
  model,
  messages,
  metadata,
  conversation,
  previous_response_id: previous,
  input,
}: Readonly<Record<string, unknown>>): Named {
  const isChat = Array.isArray(messages);
  return {
    agent: typeof model === 'string' ? model : undefined,
    threadId: isChat ? threadIn(metadata) : conversationOf(conversation),
    goesOnFrom:
      typeof previous === 'string'
        ? readId('resp', previous)
        : isChat
          ? answeredRun(messages, ofMessage)
          : answeredRun(input, ofItem),
  };
}

/** What a part of a conversation is to the search for the run that it answers. */
interface Part {
  readonly isAnswer: boolean;
  /** Of a result: the id of its call. */
  readonly callId?: unknown;
}

const ofMessage = ({ role, tool_call_id: callId }: Fields): Part => ({
  isAnswer: role === 'assistant',
  ...(role === 'tool' && { callId }),
});

const ofItem = ({ type = 'message', role, call_id: callId }: Fields): Part => ({
  isAnswer: type === 'function_call' || type === 'reasoning' || (type === 'message' && role === 'assistant'),
  ...(type === 'function_call_output' && { callId }),
});

/** The run of the first result behind the last answer of the assistant. */
function answeredRun(given: unknown, read: (part: Fields) => Part): string | undefined {
  let runId: string | undefined;
  for (const part of Array.isArray(given) ? (given as unknown[]).toReversed() : []) {
    if (!isObject(part)) continue;
    const { isAnswer, callId } = read(part);
    if (isAnswer) break;
    runId = (typeof callId === 'string' ? readCallId(callId)?.runId : undefined) ?? runId;
  }
  return runId;
}

/** The thread that the metadata of a request names. */
export function threadIn(metadata: unknown): string | undefined {
  const id = isObject(metadata) ? metadata['thread_id'] : undefined;
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The thread of a conversation that a request names, by its id or as an object. */
export function conversationOf(given: unknown): string | undefined {
  const id = isObject(given) ? given['id'] : given;
  return typeof id === 'string' ? readId('conv', id) : undefined;
}
