import type { Block, JsonObject, Message, NewMessage, RunRequest, RunResult, ToolDeclaration } from './shapes.ts';

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

/** A request with the tools declared that the graph does not declare itself. */
export function withTools(request: RunRequest, tools: readonly RemoteTool[]): RunRequest {
  const declared = tools
    .filter(({ declaredBy = 'request' }) => declaredBy === 'request')
    .map(({ run: _, declaredBy: __, ...declaration }) => declaration);
  return declared.length === 0 ? request : { ...request, tools: declared };
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

/** Makes one call, and gives the block that answers it: with what the tool gave, or with what it threw. @throws the signal's reason. */
export async function answerCall({ id, args }: RemoteCall, tool: RemoteTool, signal?: AbortSignal): Promise<Block> {
  try {
    const output = (await tool.run(args, signal)) ?? null;
    return { type: 'tool_result', call_id: id, output, status: 'completed', is_error: false };
  } catch (error) {
    signal?.throwIfAborted();
    const output = error instanceof Error ? error.message : String(error);
    return { type: 'tool_result', call_id: id, output, status: 'failed', is_error: true };
  }
}
