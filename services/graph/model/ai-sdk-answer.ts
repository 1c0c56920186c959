import type { StreamPart } from './ai-sdk-model.ts';
import { refuseLong, toCallParts, type EndedCall } from './ended-calls.ts';
import { readFinishReason } from './finish-reason.ts';
import { isObject, objectOf, textOf, type JsonObject } from './given-json.ts';
import { maxKept } from './kept-members.ts';
import type { AnswerPart, FinishReason, ProviderData, UsagePart } from './model.ts';
import { CutError } from './model-failure.ts';
import { toTokens } from './tokens.ts';

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
export async function* readAiAnswer(
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
