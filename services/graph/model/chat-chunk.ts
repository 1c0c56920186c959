import { isObject, listOf, objectOf, textOf, type JsonObject } from './given-json.ts';

/** A chunk of text or of reasoning; `member` is the member of the message that held a reasoning. */
export interface TextChunk {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
  readonly member?: string | undefined;
}

/** What one event of a stream holds, or a whole reply. */
export interface ChatChunk {
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
export function readChatChunk(json: unknown): ChatChunk {
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
