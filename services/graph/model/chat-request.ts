import { idFrom } from '@agent-workflow/kit/ids';
import { retry } from '@agent-workflow/kit/retry';
import { toChatMessages, toChatTools, type Sending } from './chat-messages.ts';
import { objectOf, textOf } from './given-json.ts';
import type { MediaKind } from './media.ts';
import type { ModelQuestion } from './model.ts';
import { CutError, NoAnswerError, TooLongError, type ModelFault } from './model-failure.ts';
import { readCharacters, readProviderFault, type ProviderFault } from './provider-words.ts';
import { nameOf } from '../state/name-of.ts';
import { loadMedia } from './question-media.ts';
import { withoutLongRuns } from './long-runs.ts';
import { readRetryAfter } from './retry-after.ts';

/** Where and how an API of chat completions is asked. */
export interface ChatApi {
  /** The model's name at its provider. */
  readonly model: string;
  /** Where the API begins, `/v1` included: `https://api.openai.com/v1` unless given. */
  readonly baseUrl?: string | undefined;
  /** Sent as a bearer token; absent: none is sent. */
  readonly apiKey?: string | undefined;
  /** Sent with each request, beside or in place of those that are sent anyway. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether answers are streamed: they are unless this is false, for a server that cannot, or not with tools. */
  readonly stream?: boolean;
  /** More members of the request's body, as `{ temperature: 0 }`. One with the value `undefined` takes a member away. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** What the model takes beside text; all of it unless given. Of anything else it gets a short text. */
  readonly inputModalities?: readonly MediaKind[];
}

const openai = 'https://api.openai.com/v1';

/** A request is sent so often at most, to an API that is busy or unavailable for a moment. */
const maxAttempts = 3;

/** A reply whose body is the answer, as a stream or whole. */
export interface ChatReply {
  readonly response: Response;
  /** Stands for the provider and its address, to which alone goes back what came beside the answer. */
  readonly source: string;
  /** The error that the answer holds in place of its rest. */
  readonly toError: (event: string) => Error;
}

/** Sends a question; repeats the request while that may help. */
export async function sendQuestion(api: ChatApi, question: ModelQuestion, signal: AbortSignal): Promise<ChatReply> {
  const url = toUrl(api);
  const headers = toHeaders(api);
  const source = sourceOf(url);
  const media = await loadMedia(question, { takes: api.inputModalities, signal });
  const body = toBody(api, question, { source, media });
  const init = { method: 'POST', headers, body, signal, redirect: 'manual' } as const;
  const sent = (): string => [withoutLongRuns(init.body), ...headers.values(), url].join('\n');
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
  return { response, toError, source };
}

/** @throws Error when there is no such address. */
export function toUrl({ baseUrl = openai }: ChatApi): string {
  const url = URL.parse(baseUrl);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new Error(`baseUrl of chatModel must be an address as ${openai}`);
  // Azure has the version of its API behind the path.
  url.pathname = `${url.pathname.replace(/\/$/, '')}/chat/completions`;
  return url.href;
}

const sourceOf = (url: string): string => `chat:${idFrom(url, 'model')}`;

/** @throws Error naming the first header that cannot be sent. */
export function toHeaders({ apiKey, headers: given = {}, stream = true }: ChatApi): Headers {
  const headers = new Headers({
    ...{ 'content-type': 'application/json', accept: stream ? 'text/event-stream' : 'application/json' },
  });
  const own = apiKey === undefined ? [] : [['authorization', `Bearer ${apiKey}`, 'apiKey'] as const];
  const others = Object.entries<unknown>(given).map(([name, value]) => [name, value, `headers.${name}`] as const);
  for (const [name, value, place] of [...own, ...others]) {
    if (typeof value !== 'string') throw new Error(`${place} of chatModel must be a text, not ${nameOf(value)}`);
    try {
      headers.set(name, value);
    } catch {
      throw new Error(`${place} of chatModel cannot be sent as a header`);
    }
  }
  return headers;
}

function toBody({ model, parameters, stream = true }: ChatApi, question: ModelQuestion, sending: Sending): string {
  const tools = toChatTools(question.tools);
  return JSON.stringify({
    ...(stream && { stream_options: { include_usage: true } }),
    ...parameters,
    ...{ model, stream, messages: toChatMessages(question, sending) },
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
  if (error instanceof NoAnswerError) return { kind: 'no_answer', contentType: error.contentType };
  if (error instanceof TooLongError) return { kind: 'too_long', message: error.message };
  if (error instanceof RangeError) return { kind: 'too_long', message: 'the answer of the model is too long' };
  const code = error instanceof Error ? textOf(objectOf(error.cause)['code']) || undefined : undefined;
  if (isUnreachable(error)) return { kind: 'unreachable', code };
  return { kind: 'cut', why: error instanceof CutError ? error.message : code };
}
