import type { Client, Transport } from '@modelcontextprotocol/client';
import { unlessAborted } from '../run/attempt.ts';
import type { Opened } from './connection.ts';
import { endCutReplies } from './cut-replies.ts';
import type { OpenCalls } from './open-calls.ts';
import { keepRawResults } from './raw-results.ts';
import type { Sdk } from './sdk.ts';
import { fetchReplies } from './whole-replies.ts';
import type { McpCommand, McpServer, McpUrl } from './server.ts';

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
