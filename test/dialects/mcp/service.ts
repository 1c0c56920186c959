import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { TestFn } from 'ava';
import { openShape } from '../../http/shape.ts';
import { agentAt } from '../../servers/standalone.ts';

type Fields = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

/** The two ways in which a client of the protocol begins. */
export const eras = {
  'with a handshake': {},
  'without a handshake': { versionNegotiation: { mode: 'auto' as const } },
};

interface Connected extends AsyncDisposable {
  readonly client: Client;
}

/** A reply as it came: its messages, in order, and what stood beside them. */
interface Replied {
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly messages: readonly Fields[];
  readonly ids: readonly string[];
  readonly text: string;
}

interface McpService {
  readonly url: () => string;
  /** The protocol's own client. */
  readonly connect: (options: object, capabilities?: object, headers?: Headers) => Promise<Connected>;
  readonly send: (message: object, headers?: Headers) => Promise<Replied>;
  /** A request of 2026-07-28, whose client has declared this. @returns its result or error */
  readonly call: (method: string, params?: Fields, capabilities?: Fields) => Promise<Fields>;
}

const version = '2026-07-28';
export const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A request of 2026-07-28 with its headers. */
export function modern(method: string, params: Fields = {}, capabilities: Fields = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const name = (params['name'] ?? params['uri'] ?? params['taskId']) as string | undefined;
  const headers = {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  };
  return { message: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }, headers };
}

/** The events of a reply, or its JSON. */
export async function readReply(reply: Response): Promise<Replied> {
  const { status, headers } = reply;
  const text = await reply.text();
  const lines = text.split('\n');
  const data = lines.filter((line) => line.startsWith('data: {')).map((line) => line.slice(6));
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const found = isStream ? data : text === '' ? [] : [text];
  return {
    ...{ status, headers, text },
    messages: found.map((json) => JSON.parse(json) as Fields),
    ids: lines.filter((line) => line.startsWith('id: ')).map((line) => line.slice(4)),
  };
}

/** Starts the service before the tests of the file and ends it after them. */
export function serveMcp(test: TestFn, env: Readonly<Record<string, string>> = {}, config: object = {}): McpService {
  let url = '';
  const opened = new AsyncDisposableStack();
  const agents = { conforming: agentAt('conforming'), typing: agentAt('typing') };
  test.serial.before(async () => {
    const service = { agents, default_agent: 'conforming', ...config };
    ({ url } = opened.use(await openShape(null, { DIALECTS: 'mcp', ...env }, service)));
  });
  test.after.always(() => opened.disposeAsync());
  const send: McpService['send'] = async (message, headers = {}) =>
    readReply(
      await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify(message),
      }),
    );
  return {
    url: () => url,
    connect: async (options, capabilities = {}, headers = {}) => {
      const client = new Client({ name: 'test', version: '1' }, { ...options, capabilities });
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
      await client.connect(transport);
      return { client, [Symbol.asyncDispose]: () => client.close() };
    },
    send,
    call: async (method, params, capabilities) => {
      const { message, headers } = modern(method, params, capabilities);
      const { messages } = await send(message, headers);
      const { result, error } = messages.at(-1) ?? {};
      return (result ?? error ?? {}) as Fields;
    },
  };
}
