import { newUnorderedId } from '@agent-workflow/kit/ids';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { sizes } from '@agent-workflow/kit/sizes';
import { httpUrl } from '@agent-workflow/kit/host-port';
import type { App } from './app.ts';
import type { GatewayConfig } from './config.ts';
import { dialects } from './dialects/dialects.ts';
import type { Refusal } from './http/dialect.ts';
import { safeHeaders } from './http/reply.ts';
import { noteUpgrade } from './http/upgrade.ts';
import { endStreams, endThreads } from './replies/events.ts';

// To import it reads all its exports, and one of them loads a client of HTTP that takes 30 ms of a start.
const { createServer, ServerResponse: Reply, STATUS_CODES } = process.getBuiltinModule('node:http');

/** The listening HTTP server. Disposal drains it. */
interface HttpServer extends AsyncDisposable {
  readonly host: string;
  /** The port that was bound, also when 0 was asked for. */
  readonly port: number;
  readonly url: string;
  /** Where people on this machine open it: nobody opens `0.0.0.0`, which stands for all addresses. */
  readonly localUrl: string;
}

interface ServerOptions {
  readonly app: App;
  readonly host: string;
  readonly config: Pick<GatewayConfig, 'PORT' | 'DRAIN_SECONDS' | 'FILES_UPLOAD_SECONDS'>;
  readonly log: Log;
}

const limits = {
  /** More is 431. */
  maxHeaderSize: sizes.headers,
  /** Milliseconds for the headers to arrive, and between two checks. */
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2000,
  /** A request without `Host` is refused like others (`http/host.ts`): Node itself answers it without the error envelope. */
  requireHostHeader: false,
  /** Longer than the idle timeout of common load balancers, so that they close connections first. */
  keepAliveTimeout: 72_000,
};

/**
 * Listens. Disposal stops accepting connections, lets running requests finish for `DRAIN_SECONDS`, then ends the remaining
 * streams without a terminal event, and finally closes connections that are still open.
 * @throws the error of the socket when the address cannot be bound.
 */
export async function openServer({ app, host, config, log }: ServerOptions): Promise<HttpServer> {
  const respond = app.callback();
  const handle = (request: IncomingMessage, response: ServerResponse): void => void respond(request, response);
  const shouldUpgradeCallback = (request: IncomingMessage): boolean => app.takesSocket?.(request) ?? false;
  const options = { ...limits, requestTimeout: requestMs(config), shouldUpgradeCallback };
  const server = createServer(options, handle);
  // Without it (Node before 24.9) a listener would get every request that offers another protocol, and its body would be lost: there are no
  // WebSockets then.
  const upgrades = 'shouldUpgradeCallback' in server ? server : undefined;
  // The server closes none of these: it knows them no more.
  const upgraded = new Set<Socket>();
  upgrades?.on('upgrade', (request, socket, head) => {
    // A server of HTTP has no other connections.
    if (!(socket instanceof Socket)) return;
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    noteUpgrade(request, { socket, head });
    handle(request, replyOn(request, socket));
  });
  // An expectation that is not known is ignored. Node itself answers it without the error envelope, and CONNECT not at all.
  server.on('checkExpectation', handle);
  server.on('connect', (_, socket) => refuse(socket, tunnel));
  server.on('clientError', refuseMalformed);
  server.listen(config.PORT, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host,
    port,
    url: httpUrl(host, port),
    localUrl: httpUrl(everyAddress.has(host) ? 'localhost' : host, port),
    [Symbol.asyncDispose]: () => drainServer({ server, app, upgraded, graceMs: config.DRAIN_SECONDS * 1000, log }),
  };
}

/** The reply to a request for a WebSocket, while it is one of HTTP: what refuses it closes the connection. */
function replyOn(request: IncomingMessage, socket: Socket): ServerResponse {
  const reply = new Reply(request);
  reply.shouldKeepAlive = false;
  reply.assignSocket(socket);
  reply.once('finish', () => {
    reply.detachSocket(socket);
    // Not only its end: a caller that keeps the other one would keep the connection.
    socket.destroySoon();
    reply.emit('close');
  });
  socket.on('error', () => socket.destroy());
  return reply;
}

const everyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The time of a whole request, in milliseconds: that of an upload, and a little more. Other bodies have less (`http/body.ts`). */
const requestMs = ({ FILES_UPLOAD_SECONDS: seconds }: ServerOptions['config']): number => (seconds + 30) * 1000;

interface DrainOptions {
  readonly server: Server;
  readonly app: App;
  /** Connections that talk another protocol, or are about to. */
  readonly upgraded: ReadonlySet<Socket>;
  readonly graceMs: number;
  readonly log: Log;
}

/** The time in which streams end after `endStreams`, in milliseconds. */
const endStreamsMs = 1000;

async function drainServer({ server, app, upgraded, graceMs, log }: DrainOptions): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  app.emit(endThreads);
  // Connections become idle as their requests end; Node closes only those that are idle now.
  const closeIdle = setInterval(() => {
    server.closeIdleConnections();
    // Again, for those that began meanwhile.
    app.emit(endThreads);
  }, 50);
  try {
    if (await settledWithin(closed, graceMs)) return;
    app.emit(endStreams);
    if (await settledWithin(closed, endStreamsMs)) return;
    log.warn('connections closed at the end of draining: their requests did not end in time');
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
    await closed;
  } finally {
    clearInterval(closeIdle);
  }
}

const tunnel: Refusal = { status: 405, code: 'MethodNotAllowed', message: 'the gateway makes no tunnels' };
const invalid: Refusal = { status: 400, code: 'BadRequest', message: 'the request is not valid HTTP' };

const malformed: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'TooLarge', message: 'the request line and headers are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'Timeout', message: 'the request did not arrive in time' },
};

/** Names and values in turn, as lines. */
const linesOf = (headers: readonly string[]): string =>
  headers.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');

const safeLines = linesOf(safeHeaders);

function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  refuse(socket, malformed[error.code ?? ''] ?? invalid);
}

/** Answers what never reaches the application as any refusal of the first dialect, and closes the connection. */
function refuse(socket: Duplex, refusal: Refusal): void {
  const requestId = newUnorderedId();
  const { status, headers, body } = dialects[0].refuse(refusal, { requestId });
  socket.end(
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\n${linesOf(headers)}` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\n${safeLines}Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
  );
}
