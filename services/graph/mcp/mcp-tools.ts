import { sizes } from '@agent-workflow/kit/sizes';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import type { Tool } from '../build/tool.ts';
import { callTool, type CalledTool, type Session } from './call.ts';
import { openClient } from './client.ts';
import { createConnection } from './connection.ts';
import { toStartFailure } from './failure.ts';
import { createOpenCalls } from './open-calls.ts';
import { loadSdk } from './sdk.ts';
import type { McpServer } from './server.ts';
import { createSlots, type Slots } from './slots.ts';

export type { McpServer } from './server.ts';

type Replay = NonNullable<Tool['replay']>;

export interface McpToolsOptions {
  /** Stands before the name of each tool; for servers whose tools have the same names. */
  readonly prefix?: string;
  /** The timeout of one call, in milliseconds: 60,000 unless given. */
  readonly timeoutMs?: number;
  /**
   * What happens to a call when its step runs again: for all tools, or by the server's name of each. Otherwise it is `safe` for tools
   * that the server declares as read-only or idempotent, and `once` for all others.
   */
  readonly replay?: Replay | Readonly<Record<string, Replay>>;
  /** How many calls the server gets at once: 32 unless given. Others wait for their turn. */
  readonly maxCalls?: number;
}

/** The tools of an MCP server. Closing them ends the connection, and the process of a server that was started by a command. */
export interface McpTools extends ReadonlyArray<Tool>, AsyncDisposable {
  readonly close: () => Promise<void>;
}

/**
 * Connects to an MCP server and gives its tools as tools of a graph. Their names, descriptions and parameters are read once, here, and
 * stay as they are. A connection that is lost is made again with the next call.
 *
 * The package `@modelcontextprotocol/client` must be installed beside this one.
 * @example const tools = await mcpTools({ url: 'https://tools.example/mcp', headers: { Authorization: `Bearer ${token}` } });
 * @throws Error when the server cannot be reached, or its list of tools exceeds 256 tools or 1 MiB of JSON.
 */
export async function mcpTools(server: McpServer, options: McpToolsOptions = {}): Promise<McpTools> {
  const { timeoutMs = 60_000, maxCalls = 32 } = options;
  const sdk = await loadSdk();
  const slots = createSlots(maxCalls);
  const calls = createOpenCalls(() => holdAll(slots));
  const connection = createConnection(() => openClient(server, { sdk, calls }));
  const session: Session = { connection, calls, slots, timeoutMs };
  try {
    const tools = (await listTools(session, 'url' in server ? 'url' : 'command')).map((definition) =>
      toTool(session, definition, options),
    );
    refuseSameNames(tools);
    return Object.assign(tools, { close: connection.close, [Symbol.asyncDispose]: connection.close });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Keeps calls from beginning until the function is called that it gives. */
function holdAll({ run, limit }: Slots): () => void {
  const controller = new AbortController();
  run(controller.signal, limit, async () => undefined).catch(() => undefined);
  return () => controller.abort();
}

/** @throws Error; one that comes of the connection names the setting to check. */
async function listTools(session: Session, setting: 'url' | 'command'): Promise<readonly McpTool[]> {
  const tools = await readTools(session).catch((error: unknown) => {
    throw toStartFailure(error, setting);
  });
  if (tools.length > sizes.tools) throw new Error(`the MCP server has ${tools.length} tools, more than ${sizes.tools}`);
  const bytes = Buffer.byteLength(JSON.stringify(tools));
  if (bytes > sizes.toolsTogether)
    throw new Error(`the tools of the MCP server are ${bytes} bytes of JSON, more than ${sizes.toolsTogether}`);
  return tools;
}

/** How long one page of the list may take, in milliseconds. */
const listMs = 30_000;

async function readTools({ connection }: Session): Promise<readonly McpTool[]> {
  const { client } = await connection.get();
  const { tools } = await client.listTools(undefined, { timeout: listMs });
  return tools;
}

function toTool(session: Session, definition: McpTool, { prefix = '', replay }: McpToolsOptions): Tool {
  const { name, title, description, inputSchema } = definition;
  const called: CalledTool = { definition, replay: replayOf(definition, replay) };
  return {
    // The APIs of models take no other characters, and many servers have dots or slashes in their names.
    name: `${prefix}${name}`.replaceAll(/[^\w-]/g, '_'),
    description: description ?? title ?? name,
    parameters: inputSchema,
    replay: called.replay,
    run: async (args, context) => callTool(session, { tool: called, args, context }),
  };
}

function replayOf({ name, annotations }: McpTool, given: McpToolsOptions['replay']): Replay {
  if (typeof given === 'string') return given;
  if (given && Object.hasOwn(given, name)) return given[name] ?? 'once';
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true ? 'safe' : 'once';
}

function refuseSameNames(tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) throw new Error(`the MCP server has two tools that are named "${name}" here`);
    seen.add(name);
  }
}
