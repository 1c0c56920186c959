import type { Client, Transport } from '@modelcontextprotocol/client';
import { unlessAborted } from '../run/attempt.ts';
import type { Opened } from './connection.ts';
import type { OpenCalls } from './open-calls.ts';
import { keepRawResults } from './raw-results.ts';
import type { Sdk } from './sdk.ts';
import type { McpCommand, McpServer, McpUrl } from './server.ts';
import type { SentCall } from './asking.ts';

/** A client that has greeted its server. */
export interface McpClient extends Opened {
  readonly client: Client;
}

interface OpenOptions {
  readonly sdk: Sdk;
  readonly calls: OpenCalls;
}

/** How long the greeting may take, the start of a command included. */
const greetingMs = 30_000;
/** How long a server that is spoken to over its standard input has to answer a greeting that older servers do not know. */
const probeMs = 5000;
/** How long the end of a session may take. */
const endMs = 2000;

/** Connects to a server, with the newest version of the protocol that both sides speak. */
export async function openClient(server: McpServer, { sdk, calls }: OpenOptions): Promise<McpClient> {
  const client = new sdk.Client(
    { name: 'agent-workflow', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: 'auto', ...('command' in server && { probe: { timeoutMs: probeMs } }) },
    },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode === 'url') throw new Error('questions that are answered on a web page are not supported');
    return calls.answer(params);
  });
  const { transport, end } = 'url' in server ? toUrl(sdk, server) : toCommand(sdk, server);
  await client.connect(transport, { timeout: greetingMs });
  endCutReplies(transport, calls.current);
  keepRawResults(transport);
  return {
    client,
    onClosed: (closed) => {
      client.onclose = closed;
    },
    close: async () => {
      // The session ends at the server without this too, only later.
      await unlessAborted(AbortSignal.timeout(endMs), end).catch(() => undefined);
      await client.close();
    },
  };
}

interface Way {
  readonly transport: Transport;
  /** Ends the session at the server. */
  readonly end: () => Promise<void>;
}

function toUrl({ StreamableHTTPClientTransport }: Sdk, { url, headers }: McpUrl): Way {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...{ requestInit: { headers: { ...headers } }, fetch: fetchReplies },
  });
  return { transport, end: () => transport.terminateSession().catch(() => undefined) };
}

function toCommand({ StdioClientTransport }: Sdk, { command, args = [], env = {}, cwd }: McpCommand): Way {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    ...(cwd !== undefined && { cwd }),
  });
  return { transport, end: () => Promise.resolve() };
}

type Send = Transport['send'];
type SendOptions = Parameters<Send>[1];
type Message = Parameters<Send>[0];

/**
 * Ends each call whose stream of a reply ends before the reply came: the client of the protocol would wait for it until the timeout
 * of the call. `current` gives the call that is being sent. Calls of a transport without such streams are not affected.
 */
function endCutReplies(transport: Transport, current: () => SentCall | undefined): void {
  const open = new Map<unknown, SentCall>();
  const send = transport.send.bind(transport);
  const receive = transport.onmessage;

  transport.send = (message: Message, options: SendOptions) => {
    const call = current();
    if (!call || !('id' in message) || !('method' in message)) return send(message, options);
    const { id } = message;
    open.set(id, call);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      open.get(id)?.lose();
      open.delete(id);
    };
    return send(message, { ...options, onRequestStreamEnd });
  };

  transport.onmessage = (message, extra) => {
    if (!('method' in message)) open.delete(message.id);
    receive?.(message, extra);
  };
}

type Members = Readonly<Record<string, unknown>>;

/**
 * `fetch` for the transport of the client, which refuses a reply as a whole for one member of its envelope: `error: null` beside a result, or a result
 * that is a text, would be a failure of a call that was done. Streams of events are left as they are.
 */
async function fetchReplies(address: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(address, init);
  const { status, statusText, headers } = response;
  if (init?.method !== 'POST' || !response.ok || !headers.get('content-type')?.startsWith('application/json'))
    return response;
  return new Response(withEnvelope(await response.text()), { status, statusText, headers });
}

function withEnvelope(text: string): string {
  try {
    const read: unknown = JSON.parse(text);
    return JSON.stringify(Array.isArray(read) ? read.map(toMessage) : toMessage(read));
  } catch {
    return text;
  }
}

/** A reply as JSON-RPC has it; a request or a notification of the server stays. */
function toMessage(given: unknown): unknown {
  if (!isObject(given) || 'method' in given || !('id' in given)) return given;
  const { id, error, result } = given;
  if (error === undefined || error === null || error === false) return { jsonrpc: '2.0', id, result: toResult(result) };
  const { code, message, data } = isObject(error) ? error : { code: undefined, message: error, data: undefined };
  return { jsonrpc: '2.0', id, error: { code: toCode(code), message: String(message), data } };
}

const toResult = (result: unknown): unknown => (isObject(result) ? result : { content: result ?? [] });

/** An error of no kind that is known. */
const otherCode = -32_000;

function toCode(code: unknown): number {
  const read = typeof code === 'string' && code.trim() !== '' ? Number(code) : code;
  return Number.isInteger(read) ? Number(read) : otherCode;
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
