import { readEvents } from '@agent-workflow/kit/sse';

/** How long one event of a reply, or a whole one, may be, in characters: a message, and what stands around it. */
const maxEvent = 16 * 1024 * 1024;

/** What a reply holds: events with JSON, and the word that ends a stream. */
type ReplyEvent =
  | { readonly type: 'json'; readonly json: unknown; readonly text: string; readonly isError: boolean }
  /** The stream, or the whole reply, says that it has ended. */
  | { readonly type: 'done' };

/**
 * Reads a reply: the events of a stream, or a body that is JSON. Which of both it is shows its first character, because types of media are
 * often wrong. What no event of an answer begins with, as `ping`, is left out.
 * @throws SyntaxError for JSON that is none; RangeError for an event that is too long.
 */
export async function* readReply(body: AsyncIterable<Uint8Array>): AsyncGenerator<ReplyEvent> {
  const { first, all } = await peek(body);
  if (first === '{' || first === '[') {
    const text = await textIn(all);
    const read: unknown = JSON.parse(text);
    // Google lists its errors.
    yield { type: 'json', json: Array.isArray(read) ? read[0] : read, text, isError: false };
    yield { type: 'done' };
    return;
  }
  for await (const { event, data } of readEvents(all, maxEvent)) {
    const text = data.trim();
    if (text === '[DONE]') {
      yield { type: 'done' };
      return;
    }
    if (text.startsWith('{')) yield { type: 'json', json: JSON.parse(text), text, isError: event === 'error' };
    else if (event === 'error') yield { type: 'json', json: {}, text, isError: true };
  }
}

/** The first character that is no white space, and all bytes, which end where the body does. */
async function peek(
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly first: string; readonly all: AsyncIterable<Uint8Array> }> {
  const source: AsyncIterator<Uint8Array, unknown> = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let first = '';
  // Servers send white space while they wait for the model.
  for (let bytes = 0; first === '' && bytes < maxEvent;) {
    const { done, value } = await source.next();
    if (done === true) break;
    bytes += value.byteLength;
    read.push(value);
    first = new TextDecoder().decode(value).trim().slice(0, 1);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      yield* read;
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  }
  return { first, all: all() };
}

async function textIn(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true });
    length += text.length;
    if (length > maxEvent) throw new RangeError(`a reply is longer than ${String(maxEvent)} characters`);
    texts.push(text);
  }
  return texts.join('');
}
