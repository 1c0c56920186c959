import { idFrom } from '@agent-workflow/kit/ids';
import { retry } from '@agent-workflow/kit/retry';
import type { LanguageModel, StreamPart } from './ai-sdk-model.ts';
import { toCallOptions } from './ai-sdk-prompt.ts';
import { objectOf, textOf, isObject, type JsonObject } from './given-json.ts';
import { guardAnswer } from './guarded-answer.ts';
import type { MediaKind } from './media.ts';
import type { Model, ModelQuestion, AnswerPart, FinishReason, ProviderData, UsagePart } from './model.ts';
import { CutError, TooLongError, type ModelFault, type SettingNames } from './model-failure.ts';
import { loadMedia } from './question-media.ts';
import { isReadable } from './supported-urls.ts';
import { readProviderFault } from './provider-words.ts';
import { readRetryAfter } from './retry-after.ts';
import { nameOf } from '../state/name-of.ts';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';
import { refuseLong, toCallParts, type EndedCall } from './ended-calls.ts';
import { readFinishReason } from './finish-reason.ts';
import { traceAnswer } from './traced-answer.ts';
import { maxKept } from './kept-members.ts';
import { toTokens } from './tokens.ts';

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
  const answer: Model['answer'] = (question, signal) => {
    let hasBegun = false;
    const toFault = (error: unknown): ModelFault => faultOf(error, hasBegun);
    return guardAnswer({ signal, timeoutMs, names, toFault }, async function* (either) {
      const stream = await startStream(model, question, { parameters, takes, source, signal: either });
      hasBegun = true;
      yield* readAiAnswer(stream, { model: model.modelId, source });
    });
  };
  const name = model.modelId;
  return {
    name,
    answer: (question, signal) => traceAnswer({ name, question, signal }, () => answer(question, signal)),
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

/** Which model answers, and what stands for its provider. */
interface Answering {
  readonly model: string;
  readonly source: string;
}

/** An answer as far as it has come. */
interface Draft {
  readonly calls: EndedCall[];
  /** The names of tools whose calls have begun, by the ids of the calls. */
  readonly begun: Map<string, string>;
  /** What the provider wants back with each open text or reasoning, by its id. */
  readonly kept: Map<unknown, JsonObject>;
  finish: StreamPart | undefined;
  characters: number;
  keptCharacters: number;
}

/**
 * Reads the stream of a language model of the AI SDK: text and reasoning as they come, then each tool call, the usage, and why the answer ended.
 * Files that the model makes, sources, and the tools that the provider runs itself do not show.
 * @throws what an `error` part holds; {@link CutError} when the stream ends before the answer does, or gives no reason why it ended.
 */
async function* readAiAnswer(
  stream: AsyncIterable<StreamPart>,
  { model, source }: Answering,
): AsyncGenerator<AnswerPart> {
  const draft: Draft = {
    ...{ calls: [], begun: new Map(), kept: new Map() },
    ...{ finish: undefined, characters: 0, keptCharacters: 0 },
  };
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    yield* takePart(draft, part, source);
  }
  const { finish, begun, calls } = draft;
  if (!finish) throw new CutError();
  yield* toUsage(finish, model);
  const reason = reasonOf(finish);
  if (!reason) throw new CutError();
  const cut = Array.from(begun, ([id, name]): EndedCall => ({ id, name, args: {}, isCut: true }));
  if (reason !== 'error') yield* toCallParts([...calls, ...cut], { reason, isStated: true });
  yield { type: 'finish', reason };
}

function* takePart(draft: Draft, part: StreamPart, source: string): Generator<AnswerPart> {
  const text = textOf(part.delta);
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
      keep(draft, part);
      if (text !== '') yield { type: part.type === 'text-delta' ? 'text' : 'reasoning', text };
      break;
    case 'text-start':
    case 'reasoning-start':
      keep(draft, part);
      break;
    case 'text-end':
    case 'reasoning-end':
      keep(draft, part);
      yield* closeBlock(draft, part, source);
      break;
    case 'tool-input-start':
      if (part.providerExecuted !== true) draft.begun.set(textOf(part.id), textOf(part.toolName));
      break;
    case 'tool-call':
      addCall(draft, part, source);
      break;
    case 'finish':
      draft.finish = part;
  }
  draft.characters += text.length;
  refuseLong(draft.characters);
}

/** Of the parts of one text or reasoning the last that has something for the provider counts, as in the AI SDK itself. */
function keep({ kept }: Draft, { id, providerMetadata }: StreamPart): void {
  if (isObject(providerMetadata)) kept.set(id, providerMetadata);
}

function* closeBlock(draft: Draft, { type, id }: StreamPart, source: string): Generator<AnswerPart> {
  // Reasoning goes back to its provider also where that wants nothing with it.
  const members = draft.kept.get(id) ?? (type === 'reasoning-end' ? {} : undefined);
  const data = dataOf(draft, members, source);
  draft.kept.delete(id);
  if (data) yield { type: type === 'text-end' ? 'text' : 'reasoning', text: '', provider_data: data };
}

/** What goes back, unless the answer has too much of it. */
function dataOf(draft: Draft, members: JsonObject | undefined, source: string): ProviderData | undefined {
  if (members === undefined) return undefined;
  draft.keptCharacters += JSON.stringify(members).length;
  return draft.keptCharacters > maxKept ? undefined : { source, members };
}

function addCall(draft: Draft, part: StreamPart, source: string): void {
  const id = textOf(part.toolCallId);
  draft.begun.delete(id);
  if (part.providerExecuted === true) return;
  const { input: args } = part;
  draft.characters += (typeof args === 'string' ? args : JSON.stringify(args ?? {})).length;
  const data = dataOf(draft, isObject(part.providerMetadata) ? part.providerMetadata : undefined, source);
  draft.calls.push({ id, name: textOf(part.toolName), args, ...(data && { provider_data: data }) });
}

/**
 * Why an answer ended: a word in v2, from v3 on an object, whose `raw` is the word of the API. Where the word of the API is none that the
 * AI SDK knows, it is read here. A provider whose API gave no reason reports `unknown` (v2), or `other` without a raw word: then nothing
 * shows that the answer is whole.
 */
function reasonOf({ finishReason }: StreamPart): FinishReason | undefined {
  if (typeof finishReason === 'string') return finishReason === 'unknown' ? undefined : readFinishReason(finishReason);
  const { unified, raw } = objectOf(finishReason);
  const known = readFinishReason(unified);
  if (known !== 'unknown') return known;
  return typeof raw === 'string' ? readFinishReason(raw) : undefined;
}

/** A count of tokens: a number in v2, an object from v3 on. */
type Tokens = number | { readonly total?: number | undefined } | undefined;

function toUsage({ usage }: StreamPart, model: string): UsagePart[] {
  const { inputTokens, outputTokens } = (usage ?? {}) as Partial<Record<'inputTokens' | 'outputTokens', Tokens>>;
  const input = totalOf(inputTokens);
  const output = totalOf(outputTokens);
  if (input === undefined && output === undefined) return [];
  return [{ type: 'usage', model, inputTokens: toTokens(input), outputTokens: toTokens(output) }];
}

const totalOf = (tokens: Tokens): number | undefined => (typeof tokens === 'object' ? tokens.total : tokens);
