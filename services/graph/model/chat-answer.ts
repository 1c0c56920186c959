import { sizes } from '@agent-workflow/kit/sizes';
import { addCalls, endedCalls, noCalls, type CallDrafts } from './call-chunks.ts';
import { readChatChunk, type ChatChunk, type TextChunk } from './chat-chunk.ts';
import type { ChatReply } from './chat-request.ts';
import { refuseLong, toCallParts } from './ended-calls.ts';
import { readFinishReason } from './finish-reason.ts';
import { addMembers, type KeptMembers } from './kept-members.ts';
import type { AnswerPart, FinishReason, ProviderData, UsagePart } from './model.ts';
import { CutError, NoAnswerError, TooLongError } from './model-failure.ts';
import { readReply } from './reply-events.ts';
import { toTokens } from './tokens.ts';

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
