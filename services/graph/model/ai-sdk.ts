import { retry } from '@agent-workflow/kit/retry';
import { readAiAnswer } from './ai-sdk-answer.ts';
import type { LanguageModel, StreamPart } from './ai-sdk-model.ts';
import { toCallOptions } from './ai-sdk-prompt.ts';
import { guardAnswer } from './guarded-answer.ts';
import type { Model, ModelQuestion } from './model.ts';
import type { ModelFault, SettingNames } from './model-failure.ts';
import { readProviderFault } from './provider-words.ts';
import { readRetryAfter } from './retry-after.ts';

export interface AiSdkModelOptions {
  /** More options of each call, as `{ temperature: 0, providerOptions: { … } }`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** How long one answer may take from the question to its last word, in milliseconds: five minutes unless given. */
  readonly timeoutMs?: number;
  /** What messages of failures call the settings, where an operator sets them by other names. */
  readonly names?: Partial<SettingNames>;
}

/** A call is made so often at most, to an API that is busy or unavailable for a moment. */
const maxAttempts = 3;

/**
 * A model of any provider of the AI SDK (https://ai-sdk.dev). Answers are streamed. A call that finds the API busy or unavailable is made up to
 * three times; an answer that breaks off is not asked for again. Tools that the provider runs itself do not show.
 * @example aiSdkModel(anthropic('claude-sonnet-4-5'))
 */
export function aiSdkModel(model: LanguageModel, options: AiSdkModelOptions = {}): Model {
  const { parameters = {}, timeoutMs = 300_000, names } = options;
  return {
    answer: (question, signal) => {
      let hasBegun = false;
      const toFault = (error: unknown): ModelFault => faultOf(error, hasBegun);
      return guardAnswer({ signal, timeoutMs, names, toFault }, async function* (either) {
        const stream = await startStream(model, question, { parameters, signal: either });
        hasBegun = true;
        yield* readAiAnswer(stream, model.modelId);
      });
    },
  };
}

async function startStream(
  model: LanguageModel,
  question: ModelQuestion,
  { parameters, signal }: { readonly parameters: object; readonly signal: AbortSignal },
): Promise<AsyncIterable<StreamPart>> {
  const call = async (): Promise<AsyncIterable<StreamPart>> => {
    const { stream } = await model.doStream({ ...parameters, ...toCallOptions(question), abortSignal: signal });
    return stream;
  };
  return retry(call, {
    ...{ firstMs: 500, maxMs: 8000, maxAttempts, signal },
    mayHelp: (error) => readCallError(error).isRetryable === true,
    leastMs: (error) => readRetryAfter((name) => readCallError(error).responseHeaders?.[name]),
  });
}

/** What a provider throws: an `APICallError` of `@ai-sdk/provider`, of whichever version of that package, or any other value. */
interface CallError {
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  readonly responseBody?: unknown;
}

const readCallError = (error: unknown): CallError =>
  typeof error === 'object' && error !== null && 'isRetryable' in error ? error : {};

/** A call that got no reply is retryable and has no status, and so is an answer whose connection breaks. */
function faultOf(error: unknown, hasBegun: boolean): ModelFault {
  const { statusCode, isRetryable, responseBody } = readCallError(error);
  if (typeof statusCode === 'number' && statusCode >= 400) {
    const body = typeof responseBody === 'string' ? responseBody : '';
    return { kind: 'refused', status: statusCode, fault: readProviderFault({ status: statusCode, body }, undefined) };
  }
  // The error of a stream is what the API wrote, as JSON: a connection that breaks is an Error.
  if (hasBegun && !(error instanceof Error) && error !== undefined)
    return { kind: 'refused', fault: readProviderFault({ body: JSON.stringify({ error }) }, undefined) };
  return { kind: isRetryable === true && !hasBegun ? 'unreachable' : 'cut' };
}
