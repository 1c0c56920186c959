import { warn } from '@agent-workflow/kit/warnings';
import { toModelNames } from '../build/model-names.ts';
import { ofServer } from '../build/same-names.ts';
import type { Tool } from '../build/tool.ts';
import { refuseUnknown } from '../state/refuse-unknown.ts';
import { openClient, type McpClient } from './client.ts';
import { createConnection, type Connection } from './connection.ts';
import { listTools, type ListedTool, type SetAside } from './list.ts';
import { createOpenCalls, type OpenCalls } from './open-calls.ts';
import { loadSdk } from './sdk.ts';
import { requireServer, type McpServer } from './server.ts';
import { createSlots, type Slots } from './slots.ts';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolContext } from '../build/context.ts';
import { unlessAborted } from '../run/attempt.ts';
import { beginCall, confused, createAnswers } from './asking.ts';
import { connectionLost, lossIn, toMcpFailure } from './failure.ts';
import { keepMedia } from './kept-media.ts';
import { toOutput } from './output.ts';
import { rawResult } from './raw-results.ts';

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
  /** What the server lists and is not offered, each with the reason. The log has it too. */
  readonly setAside: readonly SetAside[];
  readonly close: () => Promise<void>;
}

/**
 * Connects to an MCP server and gives its tools as tools of a graph. Their names, descriptions and parameters are read once, here, and
 * stay as they are. A connection that is lost is made again with the next call.
 *
 * The package `@modelcontextprotocol/client` must be installed beside this one.
 * @example const tools = await mcpTools({ url: 'https://tools.example/mcp', headers: { Authorization: `Bearer ${token}` } });
 * @throws Error when the server cannot be reached, or gives no list.
 */
export async function mcpTools(server: McpServer, options: McpToolsOptions = {}): Promise<McpTools> {
  requireServer(server);
  refuseUnknown('what mcpTools is given', '', options, optionNames);
  const { prefix = '', timeoutMs = 60_000, maxCalls = 32 } = options;
  const sdk = await loadSdk();
  const slots = createSlots(maxCalls);
  const calls = createOpenCalls(() => holdAll(slots));
  const connection = createConnection(() => openClient(server, { sdk, calls }));
  const session: Session = { connection, calls, slots, timeoutMs };
  try {
    const { tools: listed, setAside } = await listTools(connection, 'url' in server ? 'url' : 'command');
    for (const each of setAside) warnOf(each, server);
    const names = toModelNames(listed.map(({ name }) => `${prefix}${name}`));
    const where = JSON.stringify('url' in server ? server.url : [server.command, ...(server.args ?? [])]);
    const tools = listed.map((each) => {
      const name = `${prefix}${each.name}`;
      return ofServer(toTool(session, each, names.get(name) ?? name, options), where);
    });
    return Object.assign(tools, { setAside, close: connection.close, [Symbol.asyncDispose]: connection.close });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

const optionNames: Readonly<Record<keyof McpToolsOptions, true>> = {
  prefix: true,
  timeoutMs: true,
  replay: true,
  maxCalls: true,
};

/** Keeps calls from beginning until the function is called that it gives. */
function holdAll({ run, limit }: Slots): () => void {
  const controller = new AbortController();
  run(controller.signal, limit, async () => undefined).catch(() => undefined);
  return () => controller.abort();
}

function toTool(session: Session, listed: ListedTool, name: string, { replay }: McpToolsOptions): Tool {
  const called: CalledTool = { ...listed, replay: replayOf(listed, replay) };
  return {
    name,
    description: listed.description,
    parameters: listed.parameters,
    replay: called.replay,
    run: async (args, context) => callTool(session, { tool: called, args, context }),
  };
}

function replayOf({ name, isRepeatable }: ListedTool, given: McpToolsOptions['replay']): Replay {
  if (typeof given === 'string') return given;
  if (given && Object.hasOwn(given, name)) return given[name] ?? 'once';
  return isRepeatable ? 'safe' : 'once';
}

/** Says in the log what is not offered. Of an address it names neither credentials nor a query, of a command no arguments. */
function warnOf({ name, reason }: SetAside, server: McpServer): void {
  const where = 'url' in server ? withoutSecrets(server.url) : server.command;
  warn(`tool ${JSON.stringify(name.slice(0, shownCharacters))} of the MCP server ${where} is set aside: ${reason}`);
}

const shownCharacters = 100;

function withoutSecrets(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname}`;
}

/** What the calls of all tools of one server share. */
interface Session {
  readonly connection: Connection<McpClient>;
  readonly calls: OpenCalls;
  readonly slots: Slots;
  /** The timeout of one call, in milliseconds. */
  readonly timeoutMs: number;
}

/** A tool of a server, by the server's own words. */
interface CalledTool extends Pick<ListedTool, 'name' | 'inputSchema'> {
  readonly replay: NonNullable<Tool['replay']>;
}

/** A call of a tool as the run makes it. */
interface RunCall {
  readonly tool: CalledTool;
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: ToolContext;
}

type ToolDefinition = NonNullable<NonNullable<Parameters<McpClient['client']['callTool']>[1]>['toolDefinition']>;

/** The field of `_meta` with the idempotency key: the same for every attempt at a call, so that a server can recognise a repeated call. */
const idempotencyKeyField = 'agent-workflow/idempotencyKey';

/**
 * Calls a tool at its server. What the server asks meanwhile interrupts the run; with the answer the call is made again.
 * @throws Error for the model: the server's own text for a result that is an error, and a plain statement for everything else.
 */
async function callTool(session: Session, call: RunCall): Promise<unknown> {
  const { slots } = session;
  const { signal } = call.context;
  const send = createSend(session, call);
  const result = slots.run(signal, 1, send).catch(async (error: unknown) => {
    if (error !== confused) throw error;
    return slots.run(signal, slots.limit, send);
  });
  return toOutput(await keepMedia(rawResult(await result), call.context));
}

/** Gives a function that sends the call, with the answers to the questions that it asked when it was sent before. */
function createSend(session: Session, { tool, args, context }: RunCall): () => Promise<CallToolResult> {
  const { name, inputSchema } = tool;
  const answers = createAnswers(name, context);
  const ends: unknown[] = [];
  const params = {
    name,
    arguments: { ...args },
    _meta: { [idempotencyKeyField]: context.idempotencyKey },
  };
  const sendOver = async ({ client }: McpClient): Promise<CallToolResult> => {
    const call = beginCall(answers, (error) => ends.push(error));
    const signal = AbortSignal.any([context.signal, call.signal]);
    // The client copies arguments that the schema marks into headers. It would check the result by an output schema, after the effect of the call.
    const toolDefinition = { name, inputSchema } as ToolDefinition;
    const options = { signal, timeout: session.timeoutMs, toolDefinition };
    return session.calls
      .run(call, () => client.callTool(params, options))
      .catch((error: unknown) => {
        throw call.isLost() ? connectionLost(error) : error;
      });
  };
  return async () => {
    ends.length = 0;
    try {
      return await sendOverLosses(session.connection, { tool, signal: context.signal }, sendOver);
    } catch (error) {
      context.signal.throwIfAborted();
      throw ends.length > 0 ? ends[0] : toMcpFailure(error);
    }
  };
}

/** Sends a call, and once more over a new connection when the first was lost and the call did not arrive or may be repeated. */
async function sendOverLosses(
  connection: Connection<McpClient>,
  { tool, signal }: { readonly tool: CalledTool; readonly signal: AbortSignal },
  send: (client: McpClient) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const client = await unlessAborted(signal, connection.get);
  const sendBy = (one: McpClient): Promise<CallToolResult> => connection.use(one, () => send(one));
  try {
    return await sendBy(client);
  } catch (error) {
    const loss = lossIn(error);
    if (!loss || signal.aborted) throw error;
    connection.drop(client);
    if (loss === 'unknown' && tool.replay === 'once') throw error;
  }
  return sendBy(await unlessAborted(signal, connection.get));
}
