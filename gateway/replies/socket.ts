import { createRequire } from 'node:module';
import { once, on } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Socket } from 'node:net';
import type { Log } from '@agent-workflow/kit/log';
import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import type * as Library from 'ws';
import type { WebSocket } from 'ws';
import type { Context, Reservation } from '../http/context.ts';
import { statusOf } from '../http/errors.ts';
import { lazily } from '../http/lazily.ts';
import type { RequestConfig } from '../http/settings.ts';
import type { SocketReply, Talk } from '../http/talk.ts';
import { upgradeOf } from '../http/upgrade.ts';
import { atExpiry, endThreads } from './events.ts';

/** The largest text that a caller may send, in bytes. */
const mostReceived = 4 * 1024 * 1024;
/** Beyond so many bytes that the caller has not read nothing more is sent; one text may be larger. */
const mostBuffered = 1024 * 1024;
/** The connection is read no further when more texts than this wait to be handled. */
const mostWaiting = 1;
/** A caller that reads nothing for this time is cut off. In milliseconds. */
const stalledMs = 60_000;
/** What a closed connection has to answer, in milliseconds. */
const closingMs = 500;

/** Codes of RFC 6455: behind each of them a client connects again. */
const codes = { restart: 1012, later: 1013, policy: 1008, unsupported: 1003, failed: 1011 } as const;

/** Refusals that would be the same again: clients of the protocol read the status in the code, and do not connect again. */
const lasting: ReadonlySet<number> = new Set([403, 404, 422]);

interface SocketOptions {
  readonly config: Pick<RequestConfig, 'STREAM_COMMENT_SECONDS' | 'MAX_BODY_BYTES'>;
  readonly log: Log;
  /** Counts the bytes that are held of what the caller sends. */
  readonly admission: { readonly reserve: (ctx: Context, bytes: number) => Reservation };
  /** Counts a request of the caller; absent: requests have no limit. */
  readonly takeRequest: ((ctx: Context) => Promise<void>) | undefined;
}

/** The library is loaded with the first connection: most processes have none. */
const library = lazily(() => createRequire(import.meta.url)('ws') as typeof Library);

/** Serves a connection until it is closed. @throws BadRequest where the request asks for no WebSocket */
export async function serveSocket(ctx: Context, { talk }: SocketReply, options: SocketOptions): Promise<void> {
  const held = options.admission.reserve(ctx, 1);
  const opened = await open(ctx, Math.min(mostReceived, options.config.MAX_BODY_BYTES));
  if (!opened) return;
  const { socket, ws } = opened;
  const { app, res, state } = ctx;
  const closed = new AbortController();
  const close = (code: number, reason: string): void => {
    ws.close(code, reason);
    setTimeout(() => ws.terminate(), closingMs).unref();
  };
  const onEnd = (): void => close(codes.restart, 'the service restarts');
  using _ = atExpiry(ctx, () => close(codes.policy, 'the credentials have expired'));
  const pings = keepAlive(opened, options.config.STREAM_COMMENT_SECONDS * 1000);
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
      texts: textsOf(ws, close, held),
      send: (text) => send({ ws, socket, close }, text),
      count: () => countRequest(ctx, options.takeRequest),
      close,
      signal: closed.signal,
    });
    close(1000, '');
  } catch (error) {
    closeFor(error, { ctx, close, log: options.log });
  } finally {
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
  const opened = await open(ctx, 1024);
  if (!opened) return;
  const { ws } = opened;
  ws.on('error', () => undefined);
  ws.close(4000 + statusOf(error.code), reasonOf(error));
  setTimeout(() => ws.terminate(), closingMs).unref();
  ws.once('close', () => ctx.res.emit('close'));
  await once(ws, 'close');
}

interface Opened {
  readonly ws: WebSocket;
  readonly socket: Socket;
}

/** @returns `undefined` where the connection was closed meanwhile, or is none of the protocol: the library has refused it then. */
async function open(ctx: Context, maxPayload: number): Promise<Opened | undefined> {
  const { req, res } = ctx;
  const upgrade = upgradeOf(req);
  if (!upgrade) throw new ServiceError('BadRequest', 'this is a WebSocket: ask for one by `Upgrade: websocket`');
  const { socket, head } = upgrade;
  ctx.respond = false;
  res.statusCode = 101;
  res.detachSocket(socket);
  const server = new (library().WebSocketServer)({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload },
  });
  const ws = await new Promise<WebSocket | undefined>((resolve) => {
    const onClose = (): void => resolve(undefined);
    if (socket.destroyed) onClose();
    socket.once('close', onClose);
    server.handleUpgrade(req, socket, head, (made) => {
      socket.off('close', onClose);
      resolve(made);
    });
  });
  // What counts this request as open waits for its reply.
  if (!ws) res.emit('close');
  return ws && { ws, socket };
}

/** @returns the texts that come. Of several that wait the connection is read no further. */
async function* textsOf(ws: WebSocket, close: Talk['close'], held: Reservation): AsyncGenerator<string> {
  let bytes = 0;
  const hold = (more: number): void => {
    bytes += more;
    held.resize(1 + bytes);
  };
  ws.on('message', (data: Buffer) => hold(data.byteLength));
  const messages = on(ws, 'message', { close: ['close'], highWaterMark: mostWaiting, lowWaterMark: 1 });
  for await (const [data, isBinary] of messages as AsyncIterable<[Buffer, boolean]>) {
    if (isBinary) {
      close(codes.unsupported, 'messages are texts');
      return;
    }
    yield data.toString('utf8');
    hold(-data.byteLength);
  }
}

/** Sends a text when the caller has read what is too much. One that reads nothing is cut off, and connects again. */
async function send({ ws, socket, close }: Opened & Pick<Talk, 'close'>, text: string): Promise<void> {
  const isOpen = (): boolean => ws.readyState === ws.OPEN;
  while (isOpen() && ws.bufferedAmount > mostBuffered) {
    const before = ws.bufferedAmount;
    if ((await drained(socket)) || ws.bufferedAmount < before) continue;
    close(codes.later, 'the reader is too slow');
    return;
  }
  if (isOpen()) ws.send(text);
}

/** Resolves when a connection has sent all that it had, or is closed; with `false` when neither came in time. */
async function drained(socket: Socket): Promise<boolean> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const within = { signal, ref: false };
  const events = ['drain', 'close'].map((event) => once(socket, event, { signal }).then(() => true));
  try {
    return await Promise.race([...events, delay(stalledMs, false, within)]);
  } catch {
    // The connection has failed, and is closed.
    return true;
  } finally {
    waiting.abort();
  }
}

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

/** Keeps proxies from closing an idle connection, and finds one that is dead: of one that is slow an answer may stand behind much else. */
function keepAlive({ ws, socket }: Opened, ms: number): NodeJS.Timeout {
  let answered = true;
  let sent = 0;
  ws.on('pong', () => {
    answered = true;
  });
  return setInterval(() => {
    const before = sent;
    sent = socket.bytesWritten - socket.writableLength;
    const isMoving = ws.isPaused || (ws.bufferedAmount > 0 && sent > before);
    if (!answered && !isMoving) ws.terminate();
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
