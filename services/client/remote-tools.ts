import type { JsonObject } from './shapes/json.ts';
import type { Block, Message, NewMessage, ToolDeclaration } from './shapes/messages.ts';
import type { RunResult } from './shapes/results.ts';
import type { RunRequest } from './shapes/runs.ts';
import { within } from './within.ts';

/** A tool that runs where the client does: in a browser, say. */
export interface RemoteTool extends ToolDeclaration {
  /**
   * Where it is declared: in each request unless given. `graph` is for a tool that the graph declares with `remoteTool`: the
   * service refuses a request that declares it once more.
   */
  readonly declaredBy?: 'request' | 'graph';
  /** What it gives is sent back as JSON; what it throws is the tool's error, which the model reads. */
  readonly run: (args: JsonObject, signal: AbortSignal | undefined) => unknown;
}

/** A call of a remote tool, which the run waits for. */
export interface RemoteCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

/** The calls that a message asks its reader to make. */
export const remoteCallsIn = ({ content }: Pick<Message, 'content'>): readonly RemoteCall[] =>
  content.flatMap((block: Block) =>
    block.type === 'remote_tool_call'
      ? [{ id: String(block['id']), name: String(block['name']), args: (block['args'] ?? {}) as JsonObject }]
      : [],
  );

/**
 * A request with the tools declared that the graph does not declare itself, beside its own.
 * @throws TypeError for a tool without `run`, because no call of it could be answered, and for a name that the request declares, too.
 */
export function withTools(request: RunRequest, tools: readonly RemoteTool[]): RunRequest {
  const own = request.tools ?? [];
  for (const tool of tools) {
    refuseWithoutRun(tool);
    if (own.some(({ name }) => name === tool.name))
      throw new TypeError(`the tool "${tool.name}" must stand in the request or in the options, and not in both`);
  }
  const declared = tools
    .filter(({ declaredBy = 'request' }) => declaredBy === 'request')
    .map(({ run: _, declaredBy: __, ...declaration }) => declaration);
  return declared.length === 0 ? request : { ...request, tools: [...own, ...declared] };
}

interface Answering {
  readonly tools: readonly RemoteTool[];
  readonly signal: AbortSignal | undefined;
}

/**
 * The message that answers the calls of these tools that a run waits for; all of them are made side by side. `undefined` when there is
 * none: the run waits for nothing, or for calls that somebody else answers.
 */
export async function answerCalls(
  { messages, meta }: RunResult,
  { tools, signal }: Answering,
): Promise<NewMessage | undefined> {
  const calls = meta.status === 'interrupted' ? messages.flatMap(remoteCallsIn) : [];
  const known = calls.flatMap((call) => {
    const tool = tools.find(({ name }) => name === call.name);
    return tool ? [{ call, tool }] : [];
  });
  if (known.length === 0) return undefined;
  return { role: 'tool', content: await Promise.all(known.map(({ call, tool }) => answerCall(call, tool, signal))) };
}

/**
 * Makes one call, and gives the block that answers it: with what the tool gave, or with what it threw. A result that JSON cannot hold is
 * an error of the tool, too. When the signal fires, what the tool does later is ignored.
 * @throws the signal's reason; TypeError for a tool without `run`.
 */
export async function answerCall({ id, args }: RemoteCall, tool: RemoteTool, signal?: AbortSignal): Promise<Block> {
  refuseWithoutRun(tool);
  try {
    const output = (await within(() => tool.run(args, signal), { signal })) ?? null;
    requireJson(output);
    return { type: 'tool_result', call_id: id, output, status: 'completed', is_error: false };
  } catch (error) {
    signal?.throwIfAborted();
    const output = messageOf(error);
    return { type: 'tool_result', call_id: id, output, status: 'failed', is_error: true };
  }
}

/** Callers without types may leave it out. */
function refuseWithoutRun({ name, run }: { readonly name: string; readonly run: unknown }): void {
  if (typeof run !== 'function') throw new TypeError(`the tool "${name}" must have a function \`run\``);
}

/** A circle, a BigInt or a function would make the request fail that brings all answers. */
function requireJson(output: unknown): void {
  // `undefined` for a function, which the types of JavaScript leave out.
  let text: unknown;
  try {
    text = JSON.stringify(output);
  } catch (error) {
    // The lines after the first draw the circle.
    throw new TypeError(`${noJson}: ${messageOf(error).split('\n', 1).join('')}`, { cause: error });
  }
  if (text === undefined) throw new TypeError(`${noJson}: it is a ${typeof output}`);
}

const noJson = 'the tool gave a result that JSON cannot hold';

/** A tool may throw anything, also what has no text. */
function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'the tool threw a value that has no text';
  }
}
