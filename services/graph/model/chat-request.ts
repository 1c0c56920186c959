import { retry } from '@agent-workflow/kit/retry';
import { toChatMessages, toChatTools } from './chat-messages.ts';
import type { ModelQuestion } from './model.ts';
import { NoStreamError, type ModelFault } from './model-failure.ts';
import { readCharacters, readProviderFault, type ProviderFault } from './provider-words.ts';
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

/** A reply whose body is the answer as a stream. */
export interface ChatReply {
  readonly response: Response;
  /** The error that the answer holds in place of its rest. */
  readonly toError: (event: string) => Error;
}

/** Sends a question; repeats the request while that may help. */
export async function sendQuestion(api: ChatApi, question: ModelQuestion, signal: AbortSignal): Promise<ChatReply> {
  const { baseUrl = openai, apiKey } = api;
  const url = `${baseUrl.replace(/\/$/, '')}/chat/completions`;
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'text/event-stream' },
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };
  const init = { method: 'POST', headers, body: toBody(api, question), signal, redirect: 'error' } as const;
  const sent = (): string => `${init.body}\n${apiKey ?? ''}\n${url}`;
  const send = async (): Promise<Response> => {
    const response = await fetch(url, init);
    if (!response.ok) throw await toChatError(response, sent);
    return response;
  };
  const toError = (event: string): Error => new ChatError(undefined, readProviderFault({ body: event }, sent()));
  const response = await retry(send, {
    ...{ firstMs: 500, maxMs: 8000, maxAttempts, signal },
    mayHelp: isTransient,
    leastMs: (error) => (error instanceof ChatError ? error.retryAfterMs : 0),
  });
  return { response, toError };
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

/** A reply that is no success, or an error in the middle of an answer. Of its words those that the request did not hold are kept. */
class ChatError extends Error {
  readonly status: number | undefined;
  readonly retryAfterMs: number;
  readonly fault: ProviderFault;

  constructor(status: number | undefined, fault: ProviderFault, retryAfterMs = 0) {
    super(status === undefined ? 'the API sent an error' : `the API answered ${String(status)}`);
    this.status = status;
    this.fault = fault;
    this.retryAfterMs = retryAfterMs;
  }
}

async function toChatError(response: Response, sent: () => string): Promise<ChatError> {
  const { status, headers } = response;
  const retryAfterMs = readRetryAfter((name) => headers.get(name));
  return new ChatError(status, readProviderFault({ status, body: await beginningOf(response) }, sent()), retryAfterMs);
}

/** How long the body of an error is waited for, in milliseconds. */
const bodyMs = 2000;

/** The beginning of a body: what has arrived in time, and no more than is read. */
async function beginningOf({ body }: Response): Promise<string> {
  if (!body) return '';
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const late = setTimeout(() => void reader.cancel().catch(() => undefined), bodyMs);
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (text.length < readCharacters) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // A body that is cut off says what it says.
  } finally {
    clearTimeout(late);
    void reader.cancel().catch(() => undefined);
  }
  return text;
}

const transientStatuses: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504]);

const isTransient = (error: unknown): boolean =>
  error instanceof ChatError ? transientStatuses.has(error.status ?? 0) : isUnreachable(error);

/** `fetch` throws this when it gets no reply. */
const isUnreachable = (error: unknown): error is TypeError =>
  error instanceof TypeError && error.message === 'fetch failed';

/** What an error of {@link sendQuestion}, or of reading its reply, means. */
export function toChatFault(error: unknown): ModelFault {
  if (error instanceof ChatError) return { kind: 'refused', status: error.status, fault: error.fault };
  if (error instanceof SyntaxError) return { kind: 'unreadable' };
  if (error instanceof NoStreamError) return { kind: 'no_stream', contentType: error.contentType };
  if (!isUnreachable(error)) return { kind: 'cut' };
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return { kind: 'unreachable', code: typeof code === 'string' ? code : undefined };
}
