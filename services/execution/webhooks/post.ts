import { lookup as resolveName, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import type { MayReach } from './reachable.ts';

interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly mayReach: MayReach;
  readonly signal: AbortSignal;
}

export interface PostReply {
  readonly status: number;
  /** What the status says: the body was taken, it was not, or the receiver wants nothing more. */
  readonly verdict: 'taken' | 'refused' | 'gone';
  /** The wait that the reply asks for, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** Why a request was not sent, or got no reply. Its message may be shown to who named the address. */
export class PostFailure extends Error {
  override readonly name = 'PostFailure';
}

/** The bytes of a reply that are read. */
const mostRead = 64 * 1024;

/**
 * Sends a body to an address by a connection of its own, through no proxy, and follows no redirect. The address is checked where its name is looked
 * up and once more on the connected socket, before a byte is sent: an address in place of a name is not looked up.
 * @throws PostFailure
 */
export async function post({ url, headers, body, mayReach, signal }: Post): Promise<PostReply> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
  const isSecure = target.protocol === 'https:';
  const port = target.port === '' ? (isSecure ? 443 : 80) : Number(target.port);
  let socket: Socket | undefined;
  const abort = (): void => void socket?.destroy(new PostFailure('it took too long'));
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    if (isIP(host) !== 0 && !mayReach(host)) throw refused();
    const plain = connect({ host, port, lookup: guarded(mayReach), autoSelectFamily: true });
    socket = plain.on('error', ignore);
    await once(plain, 'connect', { signal });
    if (!mayReach(plain.remoteAddress ?? '')) throw refused();
    if (isSecure) {
      const encrypted = secure({
        socket: plain,
        ...(isIP(host) === 0 && { servername: host }),
        ALPNProtocols: ['http/1.1'],
      });
      socket = encrypted.on('error', ignore);
      await once(encrypted, 'secureConnect', { signal });
    }
    return await exchange(socket, { target, headers, body, signal });
  } catch (error) {
    if (error instanceof PostFailure) throw error;
    throw new PostFailure(signal.aborted ? 'it took too long' : reasonOf(error));
  } finally {
    signal.removeEventListener('abort', abort);
    socket?.destroy();
  }
}

/** Errors are seen by what waits for the socket; one that comes later says nothing. */
const ignore = (): void => undefined;

const refused = (): PostFailure => new PostFailure('the address is not one of the public internet');

/** Looks a name up, and leaves out the addresses that may not be reached. */
const guarded =
  (mayReach: MayReach): LookupFunction =>
  (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) {
        callback(error, '');
        return;
      }
      const [first, ...rest] = found.filter(({ address }) => mayReach(address));
      if (!first) callback(refused(), '');
      else if (options.all === true) callback(null, [first, ...rest]);
      else callback(null, first.address, first.family);
    });
  };

interface Exchange extends Pick<Post, 'headers' | 'body' | 'signal'> {
  readonly target: URL;
}

async function exchange(socket: Socket, { target, headers, body, signal }: Exchange): Promise<PostReply> {
  const sent = request({
    createConnection: () => socket,
    method: 'POST',
    path: `${target.pathname}${target.search}`,
    headers: { ...headers, host: target.host, 'content-length': Buffer.byteLength(body), connection: 'close' },
  });
  sent.on('error', ignore).end(body);
  const [reply] = (await once(sent, 'response', { signal })) as [IncomingMessage];
  const { statusCode: status = 0 } = reply;
  await readSome(reply);
  const retryAfterMs = retryAfterOf(reply.headers['retry-after']);
  return { status, verdict: verdictOf(status), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function verdictOf(status: number): PostReply['verdict'] {
  if (status === 410) return 'gone';
  return status >= 200 && status < 300 ? 'taken' : 'refused';
}

/** Reads the reply up to a bound: a receiver may still count on that. What is wrong with its rest changes nothing. */
async function readSome(reply: IncomingMessage): Promise<void> {
  let read = 0;
  try {
    for await (const chunk of reply) {
      read += (chunk as Buffer).byteLength;
      if (read >= mostRead) return;
    }
  } catch {
    // Its status has arrived.
  }
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
