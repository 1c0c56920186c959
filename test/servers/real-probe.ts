import { connect } from 'node:net';

/** A server that is up answers at once. */
const answerMs = 2000;

/**
 * Connects, sends `question` if there is one, and gives the first piece of what comes back.
 * @throws Error when nobody listens, the connection is closed without a word, or nothing comes within two seconds.
 */
export async function exchange(port: number, question?: string | Uint8Array): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.setTimeout(answerMs, () => socket.destroy(new Error(`no answer within ${answerMs} ms`)));
  if (question !== undefined) socket.write(question);
  for await (const bytes of socket as AsyncIterable<Buffer>) return bytes;
  throw new Error('closed without a word');
}
