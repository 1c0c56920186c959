import { newId } from '@agent-workflow/kit/ids';
import { readEvents } from '@agent-workflow/kit/sse';
import { readCallArgs } from './call-args.ts';
import { readFinishReason } from './finish-reason.ts';
import type { ChatReply } from './chat-request.ts';
import type { AnswerPart, UsagePart } from './model.ts';
import { NoStreamError } from './model-failure.ts';
import { toTokens } from './tokens.ts';

/** One event of the stream, as far as it is read here. */
interface ChatChunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly CallChunk[] | null;
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  /** In place of the rest of the answer. */
  readonly error?: unknown;
}

/** A chunk of one tool call: the first has its id and its name, and all together have its arguments. */
interface CallChunk {
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
}

/**
 * Reads a streamed reply of chat completions: text as it comes, then the tool calls, then the usage.
 * @throws Error when the stream ends before the answer does; {@link NoStreamError} for a reply that is none;
 * the error that it holds in place of its rest.
 */
export async function* readChatAnswer(
  { response: { body, headers }, toError }: ChatReply,
  model: string,
): AsyncGenerator<AnswerPart> {
  const calls = new Map<number, CallDraft>();
  let usage: ChatChunk['usage'];
  let finish = '';
  let hasEvents = false;
  for await (const { data } of body ? readEvents(body) : []) {
    hasEvents = true;
    if (data === '[DONE]') break;
    const chunk = JSON.parse(data) as ChatChunk;
    if (chunk.error !== undefined && chunk.error !== null) throw toError(data);
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices ?? [];
    const { content, refusal, tool_calls: parts } = choice?.delta ?? {};
    const text = content ?? refusal ?? '';
    if (text !== '') yield { type: 'text', text };
    for (const part of parts ?? []) addToCall(calls, part);
    finish ||= choice?.finish_reason ?? '';
  }
  if (!hasEvents && !isEventStream(headers)) throw new NoStreamError(headers.get('content-type') ?? '');
  // A connection that is cut between two events ends like any other: only the finish reason shows the difference.
  if (finish === '') throw new Error('the stream ended before the answer did');
  yield* Array.from(calls.values(), toCallPart);
  if (usage) yield toUsagePart(usage, model);
  yield { type: 'finish', reason: readFinishReason(finish) };
}

/** What has no type may be a stream. */
const isEventStream = (headers: Headers): boolean =>
  (headers.get('content-type') ?? 'text/event-stream').startsWith('text/event-stream');

interface CallDraft {
  id: string;
  name: string;
  json: string;
}

/** Some servers leave the index out: then a chunk with an id begins a call, and one without continues the latest. */
function addToCall(calls: Map<number, CallDraft>, { index, id, function: part }: CallChunk): void {
  const place = index ?? Math.max(0, id ? calls.size : calls.size - 1);
  const call = calls.get(place) ?? { id: '', name: '', json: '' };
  call.id ||= id ?? '';
  call.name ||= part?.name ?? '';
  call.json += part?.arguments ?? '';
  calls.set(place, call);
}

const toCallPart = ({ id, name, json }: CallDraft): AnswerPart => ({
  type: 'tool_call',
  id: id === '' ? newId() : id,
  name,
  args: readCallArgs(json),
});

const toUsagePart = (
  { prompt_tokens: input, completion_tokens: output }: NonNullable<ChatChunk['usage']>,
  model: string,
): UsagePart => ({ type: 'usage', model, inputTokens: toTokens(input), outputTokens: toTokens(output) });
