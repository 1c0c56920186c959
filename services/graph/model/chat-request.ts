import { retry } from '@agent-workflow/kit/retry';
import { toChatMessages, toChatTools } from './chat-messages.ts';
import type { ModelQuestion } from './model.ts';
import type { ModelFault } from './model-failure.ts';
import { readRetryAfter } from './retry-after.ts';

/** Where and how an API of chat completions is asked. */
export interface ChatApi {
  /** The model's name at its provider. */
  readonly model: string;
  /** Where the API begins, `/v1` included: `https://api.openai.com/v1` unless given. */
  readonly baseUrl?: string | undefined;
  /** Sent as a bearer token; absent: none is sent. */
  readonly apiKey?: string | undefined;
  /** More members of the request's body, as `{ temperature: 0 }`. One with the value `undefined` takes a member away. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

const openai = 'https://api.openai.com/v1';

/** A request is sent so often at most, to an API that is busy or unavailable for a moment. */
const maxAttempts = 3;

/** Sends a question; repeats the request while that may help. @returns the reply, whose body is the answer as a stream. */
export async function sendQuestion(api: ChatApi, question: ModelQuestion, signal: AbortSignal): Promise<Response> {
  const { baseUrl = openai, apiKey } = api;
  const url = `${baseUrl.replace(/\/$/, '')}/chat/completions`;
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'text/event-stream' },
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };
  const init: RequestInit = { method: 'POST', headers, body: toBody(api, question), signal, redirect: 'error' };
  const send = async (): Promise<Response> => {
    const response = await fetch(url, init);
    if (!response.ok) throw await toChatError(response);
    return response;
  };
  return retry(send, {
    ...{ firstMs: 500, maxMs: 8000, maxAttempts, signal },
    mayHelp: isTransient,
    leastMs: (error) => (error instanceof ChatError ? error.retryAfterMs : 0),
  });
}

function toBody({ model, parameters }: ChatApi, question: ModelQuestion): string {
  const tools = toChatTools(question.tools);
  return JSON.stringify({
    stream_options: { include_usage: true },
    ...parameters,
    ...{ model, stream: true, messages: toChatMessages(question) },
    ...(tools.length > 0 && { tools }),
    ...(question.schema && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: question.schema } },
    }),
  });
}

/** A reply that is no success. Its body is left out: it may repeat the key or the conversation. */
class ChatError extends Error {
  readonly status: number;
  readonly retryAfterMs: number;

  constructor(status: number, retryAfterMs: number) {
    super(`the API answered ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

async function toChatError({ status, headers, body }: Response): Promise<ChatError> {
  await body?.cancel();
  return new ChatError(
    status,
    readRetryAfter((name) => headers.get(name)),
  );
}

const transientStatuses: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504]);

const isTransient = (error: unknown): boolean =>
  error instanceof ChatError ? transientStatuses.has(error.status) : isUnreachable(error);

/** `fetch` throws this when it gets no reply. */
const isUnreachable = (error: unknown): error is TypeError =>
  error instanceof TypeError && error.message === 'fetch failed';

/** What an error of {@link sendQuestion}, or of reading its reply, means. */
export function toChatFault(error: unknown): ModelFault {
  if (error instanceof ChatError) return { kind: 'refused', status: error.status };
  if (!isUnreachable(error)) return { kind: 'cut' };
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return { kind: 'unreachable', code: typeof code === 'string' ? code : undefined };
}
