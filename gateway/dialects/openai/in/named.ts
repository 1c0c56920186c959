import type { Named } from '../../../http/dialect.ts';
import { readId } from '../ids/shown-id.ts';
import { isObject } from '../messages/content.ts';

/**
 * What an input names, for authorization: the agent of its `model`, and the thread that it goes on in. Of metadata a chat completion alone reads a thread.
 */
export function namedIn({ model, messages, metadata, conversation }: Readonly<Record<string, unknown>>): Named {
  const thread = Array.isArray(messages) ? threadIn(metadata) : conversationOf(conversation);
  return { agent: typeof model === 'string' ? model : undefined, threadId: thread };
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
