import { idFrom } from '@agent-workflow/kit/ids';
import { retry } from '@agent-workflow/kit/retry';
import { readAiAnswer } from './ai-sdk-answer.ts';
import type { LanguageModel, StreamPart } from './ai-sdk-model.ts';
import { toCallOptions } from './ai-sdk-prompt.ts';
import { objectOf, textOf } from './given-json.ts';
import { guardAnswer } from './guarded-answer.ts';
import type { MediaKind } from './media.ts';
import type { Model, ModelQuestion } from './model.ts';
import { CutError, TooLongError, type ModelFault, type SettingNames } from './model-failure.ts';
import { loadMedia } from './question-media.ts';
import { isReadable } from './supported-urls.ts';
import { readProviderFault } from './provider-words.ts';
import { readRetryAfter } from './retry-after.ts';
import { nameOf } from '../state/name-of.ts';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';

export interface AiSdkModelOptions {
  /** More options of each call, as `{ temperature: 0, providerOptions: { … } }`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** What the model takes beside text; all of it unless given. Of anything else it gets a short text. */
  readonly inputModalities?: readonly MediaKind[];
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
  requireLanguageModel(model);
  requireObject('options of aiSdkModel', options);
  refuseUnknown('options of aiSdkModel', '', options, optionNames);
  const { parameters = {}, timeoutMs = 300_000, names, inputModalities: takes } = options;
  const source = sourceOf(model);
  return {
    answer: (question, signal) => {
      let hasBegun = false;
      const toFault = (error: unknown): ModelFault => faultOf(error, hasBegun);
      return guardAnswer({ signal, timeoutMs, names, toFault }, async function* (either) {
        const stream = await startStream(model, question, { parameters, takes, source, signal: either });
        hasBegun = true;
        yield* readAiAnswer(stream, { model: model.modelId, source });
      });
    },
  };
}

const optionNames: Readonly<Record<keyof AiSdkModelOptions, true>> = {
  parameters: true,
  inputModalities: true,
  timeoutMs: true,
  names: true,
};

/** What JavaScript lets pass: the name of a model, which the package `ai` takes, and a provider in place of one of its models. */
function requireLanguageModel(model: unknown): void {
  if (typeof model === 'object' && model !== null && 'doStream' in model && typeof model.doStream === 'function')
    return;
  throw new Error(`aiSdkModel takes a model of a provider of the AI SDK, as anthropic('…'), not ${nameOf(model)}`);
}

/** Stands for the provider and, where a package shows it, its address, to which alone goes back what came beside an answer. */
function sourceOf(model: LanguageModel & { readonly config?: unknown }): string {
  const { provider = '', config } = model;
  const address = textOf(objectOf(config)['baseURL']) || addressOf(config, model.modelId);
  return `ai-sdk:${idFrom(address, provider)}`;
}

/** Packages that stand on that of OpenAI give the address of a path by a function. */
function addressOf(config: unknown, modelId: string): string {
  const { url } = objectOf(config);
  if (typeof url !== 'function') return '';
  try {
    return textOf((url as (of: object) => unknown)({ path: '', modelId }));
  } catch {
    return '';
  }
}

interface Asking {
  readonly parameters: object;
  readonly takes: AiSdkModelOptions['inputModalities'];
  readonly source: string;
  readonly signal: AbortSignal;
}

async function startStream(
  model: LanguageModel,
  question: ModelQuestion,
  { parameters, takes, source, signal }: Asking,
): Promise<AsyncIterable<StreamPart>> {
  const urls = (await model.supportedUrls) ?? {};
  const media = await loadMedia(question, { takes, isReadable: (part) => isReadable(urls, part), signal });
  const options = toCallOptions(question, { source, media, version: model.specificationVersion });
  const call = async (): Promise<AsyncIterable<StreamPart>> => {
    const { stream } = await model.doStream({
      ...{ ...parameters, ...options, prompt: options.prompt as never[] },
      abortSignal: signal,
    });
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

/** Names of the errors of a package that cannot read what the API wrote. */
const unreadable: ReadonlySet<unknown> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_EmptyResponseBodyError',
]);

/** A call that got no reply is retryable and has no status, and so is an answer whose connection breaks. */
function faultOf(error: unknown, hasBegun: boolean): ModelFault {
  const { statusCode, isRetryable, responseBody } = readCallError(error);
  if (typeof statusCode === 'number' && statusCode >= 300) {
    const body = typeof responseBody === 'string' ? responseBody : '';
    return { kind: 'refused', status: statusCode, fault: readProviderFault({ status: statusCode, body }, undefined) };
  }
  if (error instanceof TooLongError) return { kind: 'too_long', message: error.message };
  // The error of a stream is what the API wrote, as JSON: a connection that breaks is an Error.
  if (hasBegun && !(error instanceof Error) && error !== undefined)
    return { kind: 'refused', fault: readProviderFault({ body: JSON.stringify({ error }) }, undefined) };
  if (error instanceof Error && unreadable.has(error.name)) return { kind: 'unreadable' };
  const code = codeOf(error);
  if (isRetryable === true && !hasBegun) return { kind: 'unreachable', code };
  return { kind: 'cut', why: error instanceof CutError ? error.message : code };
}

/** The code of the system error; `APICallError` has it in the cause of its cause. */
function codeOf(error: unknown): string | undefined {
  const { cause } = error instanceof Error ? error : {};
  const inner = cause instanceof Error ? cause.cause : undefined;
  return [cause, inner].map((each) => textOf(objectOf(each)['code'])).find((code) => code !== '');
}
