import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { exampleServer, type Seen } from './mcp-example.ts';

export interface McpHttp extends AsyncDisposable {
  readonly url: string;
  readonly seen: Seen;
  /** The authorization of each request. */
  readonly authorizations: (string | undefined)[];
  /** Ends the server with its sessions and all connections. */
  readonly stop: () => Promise<void>;
  /** Starts it again on the same port, without the sessions of before. */
  readonly start: () => Promise<void>;
}

/** Every request to a server has a method and a path. */
type Received = IncomingMessage & { readonly method: string; readonly url: string };
type Handle = (request: Received, response: ServerResponse) => Promise<void>;

interface StartOptions {
  /** Whether it is a server of 2025, with sessions. */
  readonly older?: boolean;
  /** The token without which no request is served. */
  readonly token?: string;
  readonly listed?: number;
}

/** Serves the example over Streamable HTTP on a free port of the loopback. */
export async function startMcpHttp({ older = false, token, listed }: StartOptions = {}): Promise<McpHttp> {
  const seen: Seen = { calls: [], cancelled: 0 };
  const authorizations: (string | undefined)[] = [];
  const die = (): void => server.closeAllConnections();
  const handlers = (): Handle =>
    older
      ? withSessions({ seen, die, listed })
      : toNodeHandler(createMcpHandler(exampleServer({ seen, die, listed }), { legacy: 'reject' }));
  let handle = handlers();
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end(`no entry to ${String(request.headers.host)}`);
      return;
    }
    void handle(request as Received, response).catch(() => response.destroy());
  });
  // A server that closes idle connections would now and then close one that a call is about to use.
  server.keepAliveTimeout = 0;
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${String(port)}/mcp`,
    seen,
    authorizations,
    stop,
    start: async () => {
      handle = handlers();
      await listen(port);
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** The protocol of 2025: a session begins with its first request and is named by a header. */
function withSessions(options: Parameters<typeof exampleServer>[0]): Handle {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(request, response);
    const body = await bodyOf(request);
    if (id !== undefined || (body as { readonly method?: unknown }).method !== 'initialize') {
      response.writeHead(id === undefined ? 400 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_001, message: 'no such session' }, id: null }));
      return;
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    const server = await exampleServer(options)({ era: 'legacy' });
    await server.connect(transport);
    await transport.handleRequest(request, response, body);
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString() || '{}');
}
