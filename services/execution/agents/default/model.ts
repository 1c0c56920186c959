import { randomUUID } from 'node:crypto';
import type { OpenAI } from 'openai';
import type { NodeContext } from '@agent-workflow/graph';
import { toModelMessages, toModelTools } from './conversation.ts';
import { extractSummary } from './extract.ts';
import type { Brain } from './fields.ts';
import { explainFailure } from './model-failure.ts';
import type { ModelAccess } from './settings.ts';
import { toSummaryQuestion } from './transcript.ts';

/** How long a model has for one answer, from the question to the last word. */
const answerTimeoutMs = 300_000;

/** A brain that asks a model, through any API that speaks OpenAI's chat completions. Its words and calls stream through. */
export function createModelBrain(access: ModelAccess): Brain {
  const stream = createAnswers(access);
  return {
    think: async (state, ctx) => {
      const tools = toModelTools(ctx.tools);
      await stream({ messages: toModelMessages(state), ...(tools.length > 0 && { tools }) }, ctx);
    },
    summarize: async (messages, previousSummary, { signal }) => {
      const words: string[] = [];
      const emit = (chunk: unknown): void => {
        if (typeof chunk === 'string') words.push(chunk);
      };
      await stream({ messages: toSummaryQuestion(messages, previousSummary) }, { signal, emit });
      // An empty answer of the model must not empty the summary.
      return words.join('').trim() || extractSummary(messages, previousSummary);
    },
  };
}

type Question = Pick<OpenAI.ChatCompletionCreateParamsStreaming, 'messages' | 'tools'>;

/** Where the answer goes, and the signal that ends it. */
type AnswerTo = Pick<NodeContext, 'signal' | 'emit'>;

function createAnswers(access: ModelAccess): (question: Question, answerTo: AnswerTo) => Promise<void> {
  let client: Promise<OpenAI> | undefined;
  return async (question, answerTo) => {
    client ??= connect(access);
    const { chat } = await client;
    const timeout = AbortSignal.timeout(answerTimeoutMs);
    const signal = AbortSignal.any([answerTo.signal, timeout]);
    try {
      const chunks = await chat.completions.create({ model: access.model, stream: true, ...question }, { signal });
      await relay(chunks, answerTo);
    } catch (error) {
      answerTo.signal.throwIfAborted();
      throw await explainFailure(error, { timedOut: timeout.aborted });
    }
  };
}

/** Loads the library with the first question, so that an agent without a model does not pay for it. */
async function connect({ baseUrl, apiKey }: ModelAccess): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  return new OpenAI({ baseURL: baseUrl, apiKey, organization: null, project: null, maxRetries: 2, logLevel: 'off' });
}

type Chunk = OpenAI.ChatCompletionChunk;
type CallPart = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall;

/** Passes text on as it comes, and tool calls when they are whole. */
async function relay(chunks: AsyncIterable<Chunk>, { emit }: AnswerTo): Promise<void> {
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
  // A connection that is cut between two events ends the stream like any other end: only the finish reason shows the difference.
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

/** What is no JSON stays text, which the tool's schema refuses: the model gets the error, and may try again. */
function readArgs(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}
