import type { Message } from '@agent-workflow/protos/message';
import type { ToolDeclaration } from '../build/context.ts';
import type { JsonSchema } from '../state/schema.ts';

/** What a model is asked. */
export interface ModelQuestion {
  /** What the model is and how it is to answer; empty: nothing is said about that. */
  readonly instructions: string;
  /** The conversation, oldest message first. */
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools: readonly ToolDeclaration[];
  /** The text of the answer is to be JSON of this schema; absent: any text. */
  readonly schema?: JsonSchema;
}

/** A piece of an answer: text as it comes, a call once it is whole. */
export type AnswerPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly args: unknown };

/** A language model. */
export interface Model {
  /**
   * Asks the model and gives its answer piece by piece.
   * @throws Error whose message the caller of a run may read: it names no key, address or words of the other side; the signal's
   * reason when it fires first.
   */
  readonly answer: (question: ModelQuestion, signal: AbortSignal) => AsyncIterable<AnswerPart>;
}
