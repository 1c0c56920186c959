import { createRequire } from 'node:module';
import { once, on } from 'node:events';
import type { Socket } from 'node:net';
import type { Log } from '@agent-workflow/kit/log';
import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import type * as Library from 'ws';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Context } from '../http/context.ts';
import { statusOf } from '../http/errors.ts';
import type { RequestConfig } from '../http/settings.ts';
import type { SocketReply, Talk } from '../http/talk.ts';
import { upgradeOf } from '../http/upgrade.ts';
import { endThreads } from './events.ts';

/** The largest text that a caller may send, in bytes. */
const mostReceived = 4 * 1024 * 1024;
/** Beyond so many bytes that the caller has not read nothing more is sent; one text may be larger. */
const mostBuffered = 1024 * 1024;
/** Texts that wait to be handled. */
const mostWaiting = 16;
/** A caller that reads nothing for this time is cut off. In milliseconds. */
const stalledMs = 60_000;
/** The longest that a timer waits, in milliseconds. */
const longestTimer = 2 ** 31 - 1;
/** What a closed connection has to answer, in milliseconds. */
const closingMs = 500;

/** Codes of RFC 6455: behind each of them a client connects again. */
const codes = { restart: 1012, later: 1013, policy: 1008, unsupported: 1003, failed: 1011 } as const;

/** Refusals that would be the same again: clients of the protocol read the status in the code, and do not connect again. */
const lasting: ReadonlySet<number> = new Set([403, 404, 422]);

interface SocketOptions {
  readonly config: Pick<RequestConfig, 'STREAM_COMMENT_SECONDS'>;
  readonly log: Log;
  /** Counts a request of the caller; absent: requests have no limit. */
  readonly takeRequest: ((ctx: Context) => Promise<void>) | undefined;
}

/** The library is loaded with the first connection: most processes have none. */
const makeServer = lazily((): WebSocketServer => {
  const { WebSocketServer: Server } = createRequire(import.meta.url)('ws') as typeof Library;
  return new Server({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: mostReceived });
});

/** Serves a connection until it is closed. @throws BadRequest where the request asks for no WebSocket */
export async function serveSocket(ctx: Context, { talk }: SocketReply, options: SocketOptions): Promise<void> {
  const { socket, ws } = await open(ctx);
  const { app, res, state } = ctx;
  const closed = new AbortController();
  const close = (code: number, reason: string): void => {
    ws.close(code, reason);
    setTimeout(() => ws.terminate(), closingMs).unref();
  };
  const onEnd = (): void => close(codes.restart, 'the service restarts');
  const expiry = expiryOf(ctx, () => close(codes.policy, 'the credentials have expired'));
  const pings = keepAlive(ws, options.config.STREAM_COMMENT_SECONDS * 1000);
  ws.on('close', () => {
    closed.abort();
    // What counts this request as open waits for its reply.
    res.emit('close');
  });
  // The library closes the connection, with a code that says why.
  ws.on('error', () => undefined);
  app.once(endThreads, onEnd);
  try {
    await talk({
      texts: textsOf(ws, close),
      send: (text) => send({ ws, socket, close }, text),
      count: () => countRequest(ctx, options.takeRequest),
      close,
      signal: closed.signal,
    });
    close(1000, '');
  } catch (error) {
    closeFor(error, { ctx, close, log: options.log });
  } finally {
    clearTimeout(expiry);
    clearInterval(pings);
    app.off(endThreads, onEnd);
    if (!closed.signal.aborted) await once(ws, 'close');
    state.headers.length = 0;
  }
}

/** Takes the connection of a request, closing it for a refusal that would be the same again. */
export async function refuseSocket(ctx: Context, error: unknown): Promise<void> {
  if (!upgradeOf(ctx.req) || !isServiceError(error) || !lasting.has(statusOf(error.code))) throw error;
  ctx.state.error = error;
  const { ws } = await open(ctx);
  ws.on('error', () => undefined);
  ws.close(4000 + statusOf(error.code), reasonOf(error));
  setTimeout(() => ws.terminate(), closingMs).unref();
  await once(ws, 'close');
  ctx.res.emit('close');
}

interface Opened {
  readonly ws: WebSocket;
  readonly socket: Socket;
}

async function open(ctx: Context): Promise<Opened> {
  const { req, res } = ctx;
  const upgrade = upgradeOf(req);
  if (!upgrade) throw new ServiceError('BadRequest', 'this is a WebSocket: ask for one by `Upgrade: websocket`');
  const { socket, head } = upgrade;
  ctx.respond = false;
  res.statusCode = 101;
  res.detachSocket(socket);
  const ws = await new Promise<WebSocket>((resolve) => makeServer().handleUpgrade(req, socket, head, resolve));
  return { ws, socket };
}

/** @returns the texts that come. Of several that wait the connection is read no further. */
async function* textsOf(ws: WebSocket, close: Talk['close']): AsyncGenerator<string> {
  const messages = on(ws, 'message', { close: ['close'], highWaterMark: mostWaiting, lowWaterMark: 1 });
  for await (const [data, isBinary] of messages as AsyncIterable<[Buffer, boolean]>) {
    if (isBinary) {
      close(codes.unsupported, 'messages are texts');
      return;
    }
    yield data.toString('utf8');
  }
}

/** Sends a text, and waits until the caller has read what is too much. One that reads nothing is cut off, and connects again. */
async function send({ ws, socket, close }: Opened & Pick<Talk, 'close'>, text: string): Promise<void> {
  const isOpen = (): boolean => ws.readyState === ws.OPEN;
  if (!isOpen()) return;
  ws.send(text);
  while (isOpen() && ws.bufferedAmount > mostBuffered) {
    const before = ws.bufferedAmount;
    await Promise.race([once(socket, 'drain'), once(socket, 'close'), unrefDelay(stalledMs)]);
    if (ws.bufferedAmount < before) continue;
    close(codes.later, 'the reader is too slow');
    return;
  }
}

const unrefDelay = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());

/** Counts a request of a caller; what it adds to the headers of a reply is of no use here. */
async function countRequest(ctx: Context, take: SocketOptions['takeRequest']): Promise<void> {
  const { headers } = ctx.state;
  const { length } = headers;
  try {
    await take?.(ctx);
  } finally {
    headers.length = length;
  }
}

/** Closes the connection when the credentials of its caller expire. */
function expiryOf({ state }: Context, close: () => void): NodeJS.Timeout | undefined {
  if (state.expiresAt === undefined) return undefined;
  return setTimeout(close, Math.max(0, Math.min(state.expiresAt - Date.now(), longestTimer)));
}

/** Keeps proxies from closing an idle connection, and finds one that is dead. */
function keepAlive(ws: WebSocket, ms: number): NodeJS.Timeout {
  let answered = true;
  ws.on('pong', () => {
    answered = true;
  });
  return setInterval(() => {
    if (!answered) ws.terminate();
    answered = false;
    ws.ping();
  }, ms);
}

interface Failing {
  readonly ctx: Context;
  readonly close: Talk['close'];
  readonly log: Log;
}

function closeFor(error: unknown, { ctx, close, log }: Failing): void {
  const status = isServiceError(error) ? statusOf(error.code) : 500;
  if (isServiceError(error) && lasting.has(status)) {
    close(4000 + status, reasonOf(error));
    return;
  }
  log.warn({ err: error, request_id: ctx.state.requestId }, 'a WebSocket was closed; its caller can connect again');
  close(codes.failed, 'the service failed; connect again');
}

/** A reason has 123 bytes at most. */
const reasonOf = ({ message }: ServiceError): string =>
  Buffer.from(message)
    .subarray(0, 120)
    .toString('latin1')
    .replaceAll(/[^ -~]/g, '?');

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
