import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

type Members = Readonly<Record<string, unknown>>;

/** What a server says, as JSON of any shape: no library corrects it. */
export interface RawMcp {
  /** The pages of its list; each page after the first is asked for by the cursor that the page before gives. */
  readonly pages: readonly unknown[];
  /** The result of a call, by the name of its tool. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** The tool whose calls get no reply, but a stream that ends, and one whose calls are answered after that. */
  readonly cut?: { readonly name: string; readonly before: string };
  /** What the envelope of the reply to a call has in place of what is usual, by the name of its tool. */
  readonly envelopes?: Readonly<Record<string, Members>>;
}

export interface StartedRawMcp extends AsyncDisposable {
  readonly url: string;
  readonly calls: Members[];
}

/** One page with these tools. */
export const pageOf = (...tools: readonly unknown[]): RawMcp => ({ pages: [{ tools }] });

/** Serves the protocol of 2025 over Streamable HTTP on a free port of the loopback, written by hand. */
export async function startRawMcp({ pages, results = {}, envelopes = {}, cut }: RawMcp): Promise<StartedRawMcp> {
  const calls: Members[] = [];
  const wasCut = Promise.withResolvers<undefined>();
  const resultOf = (method: unknown, params: Members): unknown => {
    if (method === 'initialize')
      return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' } };
    if (method === 'tools/list') return pages[Number(params['cursor'] ?? 0)];
    if (method !== 'tools/call') return undefined;
    calls.push(params);
    const name = String(params['name']);
    return Object.hasOwn(results, name) ? results[name] : { content: [{ type: 'text', text: `called ${name}` }] };
  };
  const server = createServer((request, response) => {
    void bodyOf(request).then(async (body) => {
      const {
        id,
        method,
        params = {},
      } = body as { readonly id?: unknown; readonly method?: unknown; readonly params?: Members };
      if (id === undefined) {
        response.writeHead(request.method === 'POST' ? 202 : 405).end();
        return;
      }
      const result = resultOf(method, params);
      const reply = result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
      const name = method === 'tools/call' ? params['name'] : undefined;
      if (name !== undefined && name === cut?.name) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
        setTimeout(() => wasCut.resolve(undefined), 200);
        return;
      }
      if (name !== undefined && name === cut?.before) await wasCut.promise;
      response.writeHead(200, { 'content-type': 'application/json' });
      const envelope = method === 'tools/call' ? envelopes[String(params['name'])] : {};
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply, ...envelope }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`,
    calls,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString() || '{}');
}
