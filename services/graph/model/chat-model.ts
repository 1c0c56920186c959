import { newId } from '@agent-workflow/kit/ids';
import { retry } from '@agent-workflow/kit/retry';
import { readEvents } from '@agent-workflow/kit/sse';
import { toChatMessages, toChatTools } from './chat-messages.ts';
import { chatFailure, isTransient, retryAfterMs, toChatError, type SettingNames } from './chat-failure.ts';
import type { AnswerPart, Model, ModelQuestion } from './model.ts';

export interface ChatModelOptions {
  /** The model's name at its provider. */
  readonly model: string;
  /** Where the API begins, `/v1` included: `https://api.openai.com/v1` unless given. */
  readonly baseUrl?: string | undefined;
  /** Sent as a bearer token; absent: none is sent. */
  readonly apiKey?: string | undefined;
  /** More members of the request's body: `{ temperature: 0 }`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** How long one answer may take from the question to its last word, in milliseconds: five minutes unless given. */
  readonly timeoutMs?: number;
  /** What messages of failures call the settings, where an operator sets them by other names. */
  readonly names?: Partial<SettingNames>;
}

const defaults = { baseUrl: 'https://api.openai.com/v1', timeoutMs: 300_000 };

/** A request is made so often at most: with a server that is busy, or away for a moment. */
const maxAttempts = 3;

/**
 * A model at any API that speaks OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat): OpenAI, Azure,
 * vLLM, Ollama, LiteLLM. Answers are streamed. A request that the other side was too busy for is made again; an answer that breaks off is not.
 */
export function chatModel(options: ChatModelOptions): Model {
  const { timeoutMs = defaults.timeoutMs } = options;
  return {
    async *answer(question, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const either = AbortSignal.any([signal, timeout]);
      try {
        const response = await request(options, question, either);
        yield* readAnswer(response);
      } catch (error) {
        signal.throwIfAborted();
        throw chatFailure(error, { isLate: timeout.aborted, names: options.names });
      }
    },
  };
}

async function request(options: ChatModelOptions, question: ModelQuestion, signal: AbortSignal): Promise<Response> {
  const { model, baseUrl = defaults.baseUrl, apiKey, parameters } = options;
  const tools = toChatTools(question.tools);
  const body = JSON.stringify({
    ...parameters,
    ...{ model, stream: true, messages: toChatMessages(question) },
    ...(tools.length > 0 && { tools }),
    ...(question.schema && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: question.schema } },
    }),
  });
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'text/event-stream' },
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };
  const send = async (): Promise<Response> => {
    const url = `${baseUrl.replace(/\/$/, '')}/chat/completions`;
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
    if (!response.ok) throw await toChatError(response);
    return response;
  };
  return retry(send, {
    ...{ firstMs: 500, maxMs: 8000, maxAttempts, signal },
    mayHelp: isTransient,
    leastMs: retryAfterMs,
  });
}

/** One piece of the stream, as far as it is read here. */
interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly CallPiece[] | null;
    };
    readonly finish_reason?: string | null;
  }[];
}

interface CallPiece {
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
}

/** Text as it comes, and calls once all of them are whole. */
async function* readAnswer({ body }: Response): AsyncGenerator<AnswerPart> {
  const calls = new Map<number, CallDraft>();
  let isFinished = false;
  for await (const { data } of readEvents(body ?? [])) {
    if (data === '[DONE]') break;
    const [choice] = (JSON.parse(data) as Chunk).choices ?? [];
    if (!choice) continue;
    const { content, refusal, tool_calls: pieces } = choice.delta ?? {};
    const text = content ?? refusal ?? '';
    if (text !== '') yield { type: 'text', text };
    for (const piece of pieces ?? []) addPiece(calls, piece);
    isFinished ||= Boolean(choice.finish_reason);
  }
  // A connection that is cut between two events ends like any other: only the finish reason shows the difference.
  if (!isFinished) throw new Error('the stream ended before the answer did');
  for (const { id, name, json } of calls.values())
    yield { type: 'tool_call', id: id === '' ? newId() : id, name, args: readArgs(json) };
}

interface CallDraft {
  id: string;
  name: string;
  json: string;
}

function addPiece(calls: Map<number, CallDraft>, { index = 0, id, function: piece }: CallPiece): void {
  const call = calls.get(index) ?? { id: '', name: '', json: '' };
  call.id ||= id ?? '';
  call.name += piece?.name ?? '';
  call.json += piece?.arguments ?? '';
  calls.set(index, call);
}

/** What is no JSON stays text, which the tool's schema refuses: the model gets the error, and may try again. */
function readArgs(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}
