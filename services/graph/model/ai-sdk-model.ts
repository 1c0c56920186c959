/**
 * A language model of the AI SDK (https://ai-sdk.dev): of the specifications v2, v3 and v4 in `@ai-sdk/provider` the parts that are
 * used here. A model that a provider package makes is one.
 */
export interface LanguageModel {
  readonly specificationVersion: string;
  /** Names the provider, and what of it. */
  readonly provider?: string;
  readonly modelId: string;
  readonly doStream: (options: CallOptions) => PromiseLike<{ readonly stream: AsyncIterable<StreamPart> }>;
}

/** A question as a language model takes it. Lists are mutable here because they are in the specification. */
export interface CallOptions {
  readonly prompt: PromptMessage[];
  readonly tools?: FunctionTool[];
  readonly responseFormat?: { readonly type: 'json'; readonly name: string; readonly schema: object };
  readonly abortSignal: AbortSignal;
}

interface FunctionTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly inputSchema: object;
}

export type PromptMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: TextPart[] }
  | { readonly role: 'assistant'; readonly content: (TextPart | CallPart)[] }
  | { readonly role: 'tool'; readonly content: ResultPart[] };

interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

interface CallPart {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

interface ResultPart {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string };
}

/** One part of the stream of an answer. Which members it has depends on its type. */
export interface StreamPart {
  readonly type: string;
  /** Of the parts of one text, reasoning, or input of a tool. */
  readonly id?: unknown;
  /** Of `text-delta` and `reasoning-delta`. */
  readonly delta?: unknown;
  /** What the provider wants back with the part. */
  readonly providerMetadata?: unknown;
  /** The next four of `tool-call`; `input` is JSON text. */
  readonly toolCallId?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
  /** The provider has run the tool itself. */
  readonly providerExecuted?: unknown;
  /** The next two of `finish`. */
  readonly usage?: unknown;
  readonly finishReason?: unknown;
  /** Of `error`. */
  readonly error?: unknown;
}
