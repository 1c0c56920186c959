import { sizes } from '@agent-workflow/kit/sizes';
import { addCalls, endedCalls, noCalls, type CallDrafts } from './call-chunks.ts';
import type { ChatReply } from './chat-request.ts';
import { refuseLong, toCallParts } from './ended-calls.ts';
import { readFinishReason } from './finish-reason.ts';
import { addMembers, type KeptMembers } from './kept-members.ts';
import type { AnswerPart, FinishReason, ProviderData, UsagePart } from './model.ts';
import { CutError, NoAnswerError, TooLongError } from './model-failure.ts';
import { toTokens } from './tokens.ts';
import { readEvents } from '@agent-workflow/kit/sse';
import { isObject, listOf, objectOf, textOf, type JsonObject } from './given-json.ts';

/** An answer as far as it has come. */
interface Draft {
  readonly calls: CallDrafts;
  readonly kept: KeptMembers;
  usage: ChatChunk['usage'];
  /** Absent: nothing said yet why the answer ended. */
  reason: FinishReason | undefined;
  isRefused: boolean;
  /** The provider said of its reasoning that it is empty. */
  hasEmptyReasoning: boolean;
  /** What came in place of an answer, and may say why there is none. */
  words: string | undefined;
  /** The provider ended the reply, with or without a reason. */
  isDone: boolean;
  /** The kinds of what has come. */
  readonly has: Set<'text' | 'reasoning' | 'calls'>;
  /** The block that is open, and the member of the message that its reasoning stood in. */
  open: Pick<TextChunk, 'type' | 'member'> | undefined;
  characters: number;
}

/**
 * Reads a reply of chat completions, a stream or a whole one: text and reasoning as they come, then the tool calls, the usage, and why the answer ended.
 * A provider that ends a stream by `[DONE]` without a reason has ended the answer.
 * @throws {@link CutError} when the stream ends before the answer does; {@link NoAnswerError} for a reply that is none; {@link TooLongError} for one over the
 * size limit of a message; the error that it holds in place of its rest.
 */
export async function* readChatAnswer(
  { response, toError, source }: ChatReply,
  model: string,
): AsyncGenerator<AnswerPart> {
  const { body, headers } = response;
  const draft: Draft = {
    ...{ calls: noCalls(), kept: { members: {}, characters: 0 }, usage: undefined, reason: undefined },
    ...{
      isRefused: false,
      hasEmptyReasoning: false,
      words: undefined,
      isDone: false,
      has: new Set(),
      open: undefined,
      characters: 0,
    },
  };
  try {
    for await (const event of body ? readReply(body as ReadableStream<Uint8Array>) : []) {
      if (event.type === 'done') draft.isDone = true;
      else {
        const chunk = readChatChunk(event.json);
        const error = chunk.error ?? (event.isError ? event.text : undefined);
        if (error !== undefined) throw toError(error);
        if (chunk.isMessage) draft.words = event.text;
        yield* takeChunk(draft, chunk, source);
        if (draft.reason === 'error') throw toError('');
      }
    }
  } catch (error) {
    // Of an answer that has ended a connection that breaks takes nothing.
    if (draft.reason === undefined || draft.reason === 'error' || !isBroken(error)) {
      if (draft.usage) yield toUsagePart(draft.usage, model);
      if (draft.reason) yield { type: 'finish', reason: draft.reason };
      throw error;
    }
  }
  if (draft.words !== undefined && endedBy(draft) === undefined) throw toError(draft.words);
  if (draft.has.size === 0 && draft.reason === undefined && !isEventStream(headers))
    throw new NoAnswerError(headers.get('content-type') ?? '');
  yield* endOf(draft, { source, model });
}

/** `fetch` throws this when the connection breaks. */
const isBroken = (error: unknown): boolean => error instanceof TypeError && error.message === 'terminated';

/** What has no type may be a stream. */
const isEventStream = (headers: Headers): boolean =>
  (headers.get('content-type') ?? 'text/event-stream').startsWith('text/event-stream');

function* takeChunk(draft: Draft, chunk: ChatChunk, source: string): Generator<AnswerPart> {
  draft.usage = chunk.usage ?? draft.usage;
  draft.isRefused ||= chunk.isRefused;
  draft.hasEmptyReasoning ||= chunk.hasEmptyReasoning;
  // An end that leaves something out is not taken back by a later word.
  if (chunk.finish !== '' && !lasting.has(draft.reason)) draft.reason = readFinishReason(chunk.finish);
  // A whole message behind its chunks repeats them.
  const isRepeated = chunk.isWhole ? new Set(draft.has) : undefined;
  for (const text of chunk.texts) {
    if (isRepeated?.has(text.type)) continue;
    draft.has.add(text.type);
    count(draft, text.text.length);
    if (draft.open && draft.open.type !== text.type) yield* closeBlock(draft.open, source);
    draft.open = text;
    yield { type: text.type, text: text.text };
  }
  count(draft, addMembers(draft.kept, chunk.members));
  if (chunk.calls.length === 0 || isRepeated?.has('calls')) return;
  draft.has.add('calls');
  count(draft, addCalls(draft.calls, chunk.calls));
  if (draft.calls.list.length > sizes.blocks)
    throw new TooLongError(`the answer of the model has more than ${String(sizes.blocks)} tool calls`);
}

function count(draft: Draft, more: number): void {
  draft.characters += more;
  refuseLong(draft.characters);
}

const lasting: ReadonlySet<FinishReason | undefined> = new Set(['length', 'content_filter', 'error']);

/** Absent: nothing shows that the answer has ended. */
function endedBy({ reason, isDone, isRefused, has }: Draft): FinishReason | undefined {
  const ended = reason ?? (isDone && has.size > 0 ? 'unknown' : undefined);
  return isRefused && ended !== undefined ? 'content_filter' : ended;
}

/** The reasoning that ends here goes back in the member in which it came. */
function* closeBlock({ type, member }: NonNullable<Draft['open']>, source: string): Generator<AnswerPart> {
  if (type === 'reasoning' && member !== undefined)
    yield { type, text: '', provider_data: { source, text_member: member, members: {} } };
}

/** What stands behind the text of an answer. What belongs to the message goes with its last block. */
function* endOf(
  draft: Draft,
  { source, model }: { readonly source: string; readonly model: string },
): Generator<AnswerPart> {
  const { reason, kept, open, has } = draft;
  const ended = endedBy(draft);
  // Moonshot refuses an answer without its reasoning, also where that is empty.
  if (draft.hasEmptyReasoning && has.size > 0 && !has.has('reasoning')) kept.members['reasoning_content'] = '';
  const hasMembers = Object.keys(kept.members).length > 0;
  if (open && !hasMembers) yield* closeBlock(open, source);
  if (hasMembers) yield { type: open?.type ?? 'reasoning', text: '', provider_data: dataOf(draft, source) };
  if (draft.usage) yield toUsagePart(draft.usage, model);
  // A connection that is cut between two events ends like any other: only what the provider says of the end shows the difference.
  if (ended === undefined) throw new CutError();
  yield* toCallParts(endedCalls(draft.calls, source), { reason: ended, isStated: reason !== undefined });
  yield { type: 'finish', reason: ended };
}

function dataOf({ kept: { members }, open }: Draft, source: string): ProviderData {
  return { source, ...(open?.type === 'reasoning' && open.member && { text_member: open.member }), members };
}

const toUsagePart = ({ input, output }: NonNullable<ChatChunk['usage']>, model: string): UsagePart => ({
  ...{ type: 'usage', model, inputTokens: toTokens(input), outputTokens: toTokens(output) },
});

/** How long one event of a reply, or a whole one, may be, in characters: a message, and what stands around it. */
const maxEvent = 16 * 1024 * 1024;

/** What a reply holds: events with JSON, and the word that ends a stream. */
type ReplyEvent =
  | { readonly type: 'json'; readonly json: unknown; readonly text: string; readonly isError: boolean }
  /** The stream, or the whole reply, says that it has ended. */
  | { readonly type: 'done' };

/**
 * Reads a reply: the events of a stream, or a body that is JSON. Which of both it is shows its first character, because types of media are
 * often wrong. What no event of an answer begins with, as `ping`, is left out.
 * @throws SyntaxError for JSON that is none; RangeError for an event that is too long.
 */
async function* readReply(body: AsyncIterable<Uint8Array>): AsyncGenerator<ReplyEvent> {
  const { first, all } = await peek(body);
  if (first === '{' || first === '[') {
    const text = await textIn(all);
    const read: unknown = JSON.parse(text);
    // Google lists its errors.
    yield { type: 'json', json: Array.isArray(read) ? read[0] : read, text, isError: false };
    yield { type: 'done' };
    return;
  }
  for await (const { event, data } of readEvents(all, maxEvent)) {
    const text = data.trim();
    if (text === '[DONE]') {
      yield { type: 'done' };
      return;
    }
    if (text.startsWith('{')) yield { type: 'json', json: JSON.parse(text), text, isError: event === 'error' };
    else if (event === 'error') yield { type: 'json', json: {}, text, isError: true };
  }
}

/** The first character that is no white space, and all bytes, which end where the body does. */
async function peek(
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly first: string; readonly all: AsyncIterable<Uint8Array> }> {
  const source: AsyncIterator<Uint8Array, unknown> = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let first = '';
  // Servers send white space while they wait for the model.
  for (let bytes = 0; first === '' && bytes < maxEvent;) {
    const { done, value } = await source.next();
    if (done === true) break;
    bytes += value.byteLength;
    read.push(value);
    first = new TextDecoder().decode(value).trim().slice(0, 1);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      yield* read;
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  }
  return { first, all: all() };
}

async function textIn(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true });
    length += text.length;
    if (length > maxEvent) throw new RangeError(`a reply is longer than ${String(maxEvent)} characters`);
    texts.push(text);
  }
  return texts.join('');
}

/** A chunk of text or of reasoning; `member` is the member of the message that held a reasoning. */
interface TextChunk {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
  readonly member?: string | undefined;
}

/** What one event of a stream holds, or a whole reply. */
interface ChatChunk {
  readonly texts: readonly TextChunk[];
  /** Chunks of tool calls, as they came. */
  readonly calls: readonly JsonObject[];
  /** Members of the message that are not read here. */
  readonly members: JsonObject;
  /** It names its reasoning, of which there is nothing. */
  readonly hasEmptyReasoning: boolean;
  /** The provider's word for the end; empty: none. */
  readonly finish: string;
  readonly isRefused: boolean;
  /** It holds a `message`, which may repeat what came before. */
  readonly isWhole: boolean;
  readonly usage: ChatUsage | undefined;
  /** What is wrong, as JSON: it stands in place of the rest of the answer. */
  readonly error: string | undefined;
  /** It has a message in place of choices: where no answer comes, it says why. */
  readonly isMessage: boolean;
}

interface ChatUsage {
  readonly input: unknown;
  readonly output: unknown;
}

/** Reads an event of a stream, or a whole reply, of whichever server that speaks chat completions. */
function readChatChunk(json: unknown): ChatChunk {
  const given = objectOf(json);
  // Several answers may be asked for: the first counts.
  const choice = listOf(given['choices']).map(objectOf).find(isFirst) ?? {};
  const delta = objectOf(choice['delta']);
  const isWhole = isObject(choice['message']) && Object.keys(delta).length === 0;
  const message = isWhole ? objectOf(choice['message']) : delta;
  return {
    texts: textsIn(message),
    calls: callsIn(message),
    members: membersIn(message),
    hasEmptyReasoning: message['reasoning_content'] === '',
    finish: textOf(choice['finish_reason'] ?? choice['finishReason']).replace(/^null$/, ''),
    isRefused: textOf(message['refusal']) !== '',
    isWhole,
    usage: usageIn(given, choice),
    error: errorIn(given, choice),
    isMessage: listOf(given['choices']).length === 0 && messageNames.some((name) => Boolean(given[name])),
  };
}

/** Where servers write why they refuse, below a status of success. */
const messageNames = ['message', 'msg', 'error_msg', 'error_message', 'base_resp'] as const;

const isFirst = ({ index }: JsonObject): boolean => index === undefined || index === null || index === 0;

const hasText = ({ text }: TextChunk): boolean => text !== '';

/** As OpenAI, OpenRouter and Gemini write it; vLLM; Anthropic; FastAPI. */
function errorIn(given: JsonObject, choice: JsonObject): string | undefined {
  const { error, object, type, choices, detail } = given;
  const inner = [error, choice['error']].find(Boolean);
  if (inner !== undefined) return JSON.stringify({ error: inner });
  const isError = object === 'error' || type === 'error' || (choices === undefined && Boolean(detail));
  return isError ? JSON.stringify(given) : undefined;
}

function textsIn(message: JsonObject): TextChunk[] {
  const { content, refusal } = message;
  const texts = reasoningsIn(message);
  // Most chunks are a text, of a few characters.
  if (typeof content === 'string') {
    if (content !== '') texts.push({ type: 'text', text: content });
  } else if (content) texts.push(...contentIn(content).filter(hasText));
  if (typeof refusal === 'string' && refusal !== '') texts.push({ type: 'text', text: refusal });
  return texts;
}

/** The members that hold reasoning as text. Some servers write the same under two names. */
const reasoningNames = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'] as const;

function reasoningsIn(message: JsonObject): TextChunk[] {
  for (const member of reasoningNames) {
    const text = textOf(message[member]);
    if (text !== '') return [{ type: 'reasoning', text, member }];
  }
  const { reasoning_details: details, thinking_blocks: blocks } = message;
  if (details === undefined && blocks === undefined) return [];
  const texts = [...listOf(details), ...listOf(blocks)].map(objectOf).map(({ text, thinking, summary }): TextChunk => ({
    type: 'reasoning',
    text: textOf(text ?? thinking ?? summary),
  }));
  return texts.filter(hasText);
}

/** Content is a text, or a list of parts. A part of a kind that is no text is left out. */
function contentIn(content: unknown): TextChunk[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (isObject(content) ? [content] : listOf(content)).map(partIn);
}

function partIn(given: unknown): TextChunk {
  if (typeof given === 'string') return { type: 'text', text: given };
  const part = objectOf(given);
  if (part['type'] !== 'thinking' && part['type'] !== 'reasoning')
    return { type: 'text', text: textOf(part['text'] ?? part['refusal']) };
  const { thinking = part['text'] ?? part['reasoning'] } = part;
  const text =
    typeof thinking === 'string'
      ? thinking
      : contentIn(thinking)
          .map((inner) => inner.text)
          .join('');
  return { type: 'reasoning', text, member: 'content.thinking' };
}

function callsIn({ tool_calls: calls, function_call: legacy }: JsonObject): JsonObject[] {
  const list = isObject(calls) ? [calls] : listOf(calls).filter(isObject);
  return isObject(legacy) ? [...list, { index: 'function_call', function: legacy }] : list;
}

/** Members that are read, that a request does not take, and files that an answer holds. */
const readNames: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'tool_calls', 'function_call', 'images', 'audio', 'parsed', 'token_ids'],
]);

function membersIn(message: JsonObject): JsonObject {
  let members: Record<string, unknown> | undefined;
  for (const name in message)
    if (!readNames.has(name) && isKept(name, message[name])) (members ??= {})[name] = message[name];
  return members ?? nothing;
}

const nothing: JsonObject = {};

function isKept(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (typeof value === 'string') return !(reasoningNames as readonly string[]).includes(name);
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Groq and Moonshot have it in places of their own. */
function usageIn({ usage, x_groq: groq }: JsonObject, choice: JsonObject): ChatUsage | undefined {
  const given = [usage, objectOf(groq)['usage'], choice['usage']].find(isObject);
  if (!given) return undefined;
  const input = given['prompt_tokens'] ?? given['input_tokens'];
  const output = given['completion_tokens'] ?? given['output_tokens'];
  return input === undefined && output === undefined ? undefined : { input, output };
}
