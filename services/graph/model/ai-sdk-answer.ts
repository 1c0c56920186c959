import type { StreamPart } from './ai-sdk-model.ts';
import { readCallArgs } from './call-args.ts';
import { readFinishReason } from './finish-reason.ts';
import type { AnswerPart, FinishReason as Reason, UsagePart } from './model.ts';
import { toTokens } from './tokens.ts';

/**
 * Reads the stream of a language model of the AI SDK: text as it comes, each tool call, and the usage at the end.
 * @throws what an `error` part holds; Error when the stream ends before the answer does.
 */
export async function* readAiAnswer(stream: AsyncIterable<StreamPart>, model: string): AsyncGenerator<AnswerPart> {
  let finish: StreamPart | undefined;
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish') finish = part;
    const given = toPart(part);
    if (given) yield given;
  }
  if (!finish || isCut(finish)) throw new Error('the stream ended before the answer did');
  yield* toUsage(finish, model);
  yield { type: 'finish', reason: reasonOf(finish) };
}

function toPart(part: StreamPart): AnswerPart | undefined {
  if (part.type === 'text-delta' && part.delta !== '') return { type: 'text', text: String(part.delta) };
  return part.type === 'tool-call' && part.providerExecuted !== true ? toCall(part) : undefined;
}

const toCall = ({ toolCallId, toolName, input }: StreamPart): AnswerPart => ({
  type: 'tool_call',
  id: String(toolCallId),
  name: String(toolName),
  args: typeof input === 'string' ? readCallArgs(input) : input,
});

/** The reason why an answer ended: a word in v2, an object from v3 on, whose `raw` is the word of the API. */
type FinishReason = string | { readonly unified?: string; readonly raw?: string | undefined } | undefined;

/** A provider whose API gave no reason reports `unknown` (v2), or `other` without a raw word (from v3 on). */
function isCut({ finishReason }: StreamPart): boolean {
  const reason = finishReason as FinishReason;
  if (typeof reason === 'string') return reason === 'unknown' || reason === 'error';
  return reason?.unified === 'error' || (reason?.unified === 'other' && reason.raw === undefined);
}

function reasonOf({ finishReason }: StreamPart): Reason {
  const reason = finishReason as FinishReason;
  return readFinishReason(typeof reason === 'string' ? reason : reason?.unified);
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
