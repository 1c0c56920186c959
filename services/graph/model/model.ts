import type { Message, ProviderData } from '@agent-workflow/protos/message';
import type { FinishReason, ModelUsage } from '@agent-workflow/protos/usage';
import type { BoundFiles, ToolDeclaration } from '../build/context.ts';
import type { JsonSchema } from '../state/schema.ts';

/** What a model is asked. */
export interface ModelQuestion {
  /** What the model is and how it is to answer; empty: the model gets no instructions. */
  readonly instructions: string;
  /** The conversation, oldest message first. */
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools: readonly ToolDeclaration[];
  /** The text of the answer is to be JSON of this schema; absent: any text. */
  readonly schema?: JsonSchema;
  /** The files that blocks of the messages name; absent: none can be read. */
  readonly files?: Pick<BoundFiles, 'read'>;
}

export type { FinishReason, ProviderData };

/**
 * One part of an answer: a chunk of text or of reasoning as it comes, a tool call once its arguments are whole or the answer has ended, the tokens
 * that the answer took, and why it ended, which comes last.
 */
export type AnswerPart =
  | { readonly type: 'text'; readonly text: string; readonly provider_data?: ProviderData }
  | { readonly type: 'reasoning'; readonly text: string; readonly provider_data?: ProviderData }
  | CallPart
  | UsagePart
  | { readonly type: 'finish'; readonly reason: FinishReason };

/** A tool call. One that is `cut` is not whole: it is never run. */
export interface CallPart {
  readonly type: 'tool_call';
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly cut?: true;
  readonly provider_data?: ProviderData;
}

/** The tokens of one question and its answer, as the API counts them. */
export interface UsagePart extends ModelUsage {
  readonly type: 'usage';
}

/** A language model. */
export interface Model {
  /** The name under which its provider knows it, for those who look at a trace; absent: the one that its usage names. */
  readonly name?: string | undefined;
  /**
   * Asks the model and gives the parts of its answer in their order. An API that counts no tokens gives no usage.
   * @throws Error whose message the caller of a run may read: it holds no key, no address and no words of the API. The signal's reason
   * when the signal fires first.
   */
  readonly answer: (question: ModelQuestion, signal: AbortSignal) => AsyncIterable<AnswerPart>;
}
