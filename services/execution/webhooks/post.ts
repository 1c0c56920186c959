import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { createConnections, PostFailure, tooLong } from './connections.ts';
import type { MayReach } from './reachable.ts';

interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface PostReply {
  readonly status: number;
  /** What the status says: the body was taken, it was not, or the receiver wants nothing more. */
  readonly verdict: 'taken' | 'refused' | 'gone';
  /** The wait that the reply asks for, in milliseconds. */
  readonly retryAfterMs?: number;
}

interface Poster extends Disposable {
  /**
   * Sends a body to an address, over a connection of before where one is kept, and follows no redirect.
   * @throws PostFailure
   */
  readonly post: (message: Message) => Promise<PostReply>;
}

/** The bytes of a reply that are read. */
const mostRead = 64 * 1024;

/** Sends to addresses that may be reached, and no byte to any other. Disposal ends its connections. */
export function createPoster(mayReach: MayReach): Poster {
  const connections = createConnections(mayReach);

  const begin = (target: URL, { headers, body, signal }: Message): ClientRequest => {
    const isSecure = target.protocol === 'https:';
    const sent = request({
      agent: isSecure ? connections.encrypted : connections.plain,
      host: target.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: target.port === '' ? (isSecure ? 443 : 80) : Number(target.port),
      method: 'POST',
      path: `${target.pathname}${target.search}`,
      headers: { ...headers, host: target.host, 'content-length': Buffer.byteLength(body) },
      signal,
    });
    return sent.on('error', ignore).end(body);
  };

  const post: Poster['post'] = async (message) => {
    const target = new URL(message.url);
    for (;;) {
      if (message.signal.aborted) throw tooLong();
      const sent = begin(target, message);
      try {
        return await read(await replyTo(sent, message.signal));
      } catch (error) {
        if (!isStale(sent, error)) throw failureOf(error, message.signal);
      } finally {
        // A receiver may reply and never read: its connection is of no use any more.
        if (!sent.writableFinished) sent.destroy();
      }
    }
  };

  return { post, [Symbol.dispose]: () => connections[Symbol.dispose]() };
}

function failureOf(error: unknown, { aborted }: AbortSignal): PostFailure {
  if (error instanceof PostFailure) return error;
  return aborted ? tooLong() : new PostFailure(reasonOf(error));
}

/** Errors are seen by what waits for the reply; one that comes later says nothing. */
const ignore = (): void => undefined;

/** Whether the receiver had closed a kept connection. No new one is closed so, and few are kept: the next attempts get one. */
const isStale = ({ reusedSocket }: ClientRequest, error: unknown): boolean =>
  reusedSocket && ['ECONNRESET', 'EPIPE'].includes(String((error as { readonly code?: unknown }).code));

/**
 * The head of the reply. Rejects with the signal: also while the connection is being made, when the request itself does not, and where the receiver
 * replies with nothing that Node has an event for.
 */
async function replyTo(sent: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const heads = ['response', 'upgrade'].map(async (event) => once(sent, event, { signal }));
  const [reply] = (await Promise.race(heads)) as [IncomingMessage];
  return reply;
}

/** The status of a receiver that wants to speak another protocol from then on. */
const otherProtocol = 101;

async function read(reply: IncomingMessage): Promise<PostReply> {
  const { statusCode: status = 0 } = reply;
  if (status === otherProtocol) reply.socket.destroy();
  else await readSome(reply);
  const retryAfterMs = retryAfterOf(reply.headers['retry-after']);
  return { status, verdict: verdictOf(status), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function verdictOf(status: number): PostReply['verdict'] {
  if (status === 410) return 'gone';
  return status >= 200 && status < 300 ? 'taken' : 'refused';
}

/** Reads the reply up to a bound: a receiver may still count on that. What is wrong with its rest changes nothing, as its status has arrived. */
async function readSome(reply: IncomingMessage): Promise<void> {
  let bytes = 0;
  reply.on('error', ignore);
  reply.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes >= mostRead) reply.destroy();
  });
  await once(reply, 'close').catch(ignore);
}

function retryAfterOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms > 0 ? ms : undefined;
}

/** Codes of Node's and OpenSSL's errors say enough, and nothing of the inside. */
function reasonOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'the connection failed';
}
