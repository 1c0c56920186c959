import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolContext } from '../build/context.ts';
import type { Tool } from '../build/tool.ts';
import { unlessAborted } from '../run/attempt.ts';
import { beginCall, confused, createAnswers } from './asking.ts';
import type { McpClient } from './client.ts';
import type { Connection } from './connection.ts';
import { connectionLost, lossIn, toMcpFailure } from './failure.ts';
import type { OpenCalls } from './open-calls.ts';
import { keepMedia } from './kept-media.ts';
import type { ListedTool } from './list.ts';
import { toOutput } from './output.ts';
import { rawResult } from './raw-results.ts';
import type { Slots } from './slots.ts';

/** What the calls of all tools of one server share. */
export interface Session {
  readonly connection: Connection<McpClient>;
  readonly calls: OpenCalls;
  readonly slots: Slots;
  /** The timeout of one call, in milliseconds. */
  readonly timeoutMs: number;
}

/** A tool of a server, by the server's own words. */
export interface CalledTool extends Pick<ListedTool, 'name' | 'inputSchema'> {
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
export async function callTool(session: Session, call: RunCall): Promise<unknown> {
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
