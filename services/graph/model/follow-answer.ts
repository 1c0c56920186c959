import type { FailureReason } from '@agent-workflow/kit/errors';
import type { NodeContext } from '../build/context.ts';
import { nameOf } from '../state/name-of.ts';
import { StatedError } from '../state/stated-error.ts';
import type { AnswerPart, FinishReason, Model, ModelQuestion, UsagePart } from './model.ts';
import { beginAnswer } from './traced-answer.ts';

interface Asking {
  readonly model: Model;
  readonly question: ModelQuestion;
  readonly context: NodeContext;
  /** The message that the answer becomes; absent: none. */
  readonly messageId?: string;
}

/** What a node takes of an answer, as it comes. */
export type TakenPart = Exclude<AnswerPart, UsagePart | { readonly type: 'finish' }>;

/**
 * Asks a model and gives each part of its answer to `take`. The tokens and the reason why the answer ended are reported, also of an answer
 * that breaks off. Gives that reason; a model of an author's own may state none.
 * @throws what the model throws; StatedError for an answer that ended with an error, and for one of which nothing came but that the limit
 * of its length or the filter of the provider ended it.
 */
export async function followAnswer(
  { model, question, context, messageId }: Asking,
  take: (part: TakenPart) => void,
): Promise<FinishReason> {
  let usage: UsagePart | undefined;
  let reason: FinishReason | undefined;
  let isEmpty = true;
  const { signal } = context;
  const answer = beginAnswer({ name: model.name, question, signal, messageId });
  try {
    for await (const part of partsOf(model, question, signal)) {
      requirePart(part);
      answer?.take(part);
      if (part.type === 'usage') usage = part;
      else if (part.type === 'finish') reason = part.reason;
      else {
        isEmpty &&= part.type === 'reasoning' || (part.type === 'text' && part.text === '');
        take(part);
      }
    }
  } catch (error) {
    answer?.fail(error);
    throw error;
  } finally {
    if (usage) context.usage({ ...usage, finishReason: reason });
    else if (reason) context.usage({ finishReason: reason });
  }
  const failure = failureOf(reason, isEmpty);
  if (failure) answer?.fail(failure);
  if (failure) throw failure;
  answer?.end();
  return reason ?? 'unknown';
}

/** Why an answer is none, although it has ended. */
function failureOf(reason: FinishReason | undefined, isEmpty: boolean): Error | undefined {
  if (reason === 'error') return stated('the model ended its answer with an error', 'provider_error');
  if (!isEmpty) return undefined;
  if (reason === 'content_filter') return filtered();
  return reason === 'length'
    ? stated('the model reached the limit of its answer before it said anything', 'answer_too_long')
    : undefined;
}

/** The failure of an answer that the provider withheld. */
export const filtered = (): Error => stated('the provider of the model filtered the content', 'content_filtered');

const stated = (message: string, reason: FailureReason): Error => new StatedError(message, { reason });

/** What JavaScript lets pass in a model of an author's own: a whole answer in place of its parts, and a promise of them. */
function partsOf(model: Model, question: ModelQuestion, signal: AbortSignal): AsyncIterable<AnswerPart> {
  const answer: unknown = model.answer(question, signal);
  const isStream =
    typeof answer === 'object' && answer !== null && (Symbol.asyncIterator in answer || Symbol.iterator in answer);
  if (isStream) return answer as AsyncIterable<AnswerPart>;
  if (answer instanceof Promise) answer.catch(() => undefined);
  throw new TypeError(`the model must give its answer as an async iterable of parts, not ${nameOf(answer)}`);
}

/** What JavaScript lets pass: a text that is no part. It would be an answer of nothing. */
function requirePart(part: unknown): void {
  if (typeof part === 'object' && part !== null && 'type' in part) return;
  throw new TypeError(`a part of the model's answer must be an object as { type: 'text', text }, not ${nameOf(part)}`);
}
