import { randomUUID } from 'node:crypto';
import type { OpenAI } from 'openai';
import type { NodeContext } from '@agent-workflow/execution/graph';
import { toModelMessages, toModelTools } from './conversation.ts';
import type { Think } from './fields.ts';
import { explainFailure } from './model-failure.ts';
import type { ModelAccess } from './settings.ts';

/** How long a model has for one answer, from the question to the last word. */
const answerTimeoutMs = 300_000;

/** A brain that asks a model, through any API that speaks OpenAI's chat completions. Its words and calls stream through. */
export function createModelBrain(access: ModelAccess): Think {
  let client: Promise<OpenAI> | undefined;
  return async (state, ctx) => {
    client ??= connect(access);
    const { chat } = await client;
    const timeout = AbortSignal.timeout(answerTimeoutMs);
    const signal = AbortSignal.any([ctx.signal, timeout]);
    const tools = toModelTools(ctx.tools);
    try {
      const chunks = await chat.completions.create(
        { model: access.model, messages: toModelMessages(state), stream: true, ...(tools.length > 0 && { tools }) },
        { signal },
      );
      await relay(chunks, ctx);
    } catch (error) {
      ctx.signal.throwIfAborted();
      throw await explainFailure(error, { timedOut: timeout.aborted });
    }
  };
}

/** The library is loaded when a model is first asked: whoever names none does not pay for it. */
async function connect({ baseUrl, apiKey }: ModelAccess): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  return new OpenAI({ baseURL: baseUrl, apiKey, organization: null, project: null, maxRetries: 2, logLevel: 'off' });
}

type Chunk = OpenAI.ChatCompletionChunk;
type CallPart = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall;

/** Passes text on as it comes, and tool calls when they are whole. */
async function relay(chunks: AsyncIterable<Chunk>, { emit }: NodeContext): Promise<void> {
  const calls = new Map<number, CallDraft>();
  let finished = false;
  for await (const { choices } of chunks) {
    const [choice] = choices;
    if (!choice) continue;
    const { content, refusal, tool_calls: parts } = choice.delta;
    emit(content ?? refusal ?? '');
    for (const part of parts ?? []) addPart(calls, part);
    finished ||= Boolean(choice.finish_reason);
  }
  // A connection that is cut between two events ends the stream like any other end: only the reason tells.
  if (!finished) throw new Error('the stream ended before the answer did');
  for (const call of calls.values()) emit(toBlock(call));
}

interface CallDraft {
  id: string;
  name: string;
  json: string;
}

function addPart(calls: Map<number, CallDraft>, { index, id, function: part }: CallPart): void {
  const call = calls.get(index) ?? { id: '', name: '', json: '' };
  call.id ||= id ?? '';
  call.name += part?.name ?? '';
  call.json += part?.arguments ?? '';
  calls.set(index, call);
}

const toBlock = ({ id, name, json }: CallDraft) => ({
  type: 'tool_call',
  id: id === '' ? randomUUID() : id,
  name,
  args: readArgs(json),
  tool_type: 'function',
});

/** What is no JSON stays text, which the tool's schema refuses: the model is told, and may try again. */
function readArgs(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}
