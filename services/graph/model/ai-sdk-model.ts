/**
 * A language model of the AI SDK (https://ai-sdk.dev): of the specifications v2, v3 and v4 in `@ai-sdk/provider` the parts that are
 * used here. A model that a provider package makes is one.
 */
export interface LanguageModel {
  readonly specificationVersion: string;
  /** Names the provider, and what of it. */
  readonly provider?: string;
  readonly modelId: string;
  /** Which addresses the provider reads, by media type; empty or absent: nobody knows. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls>;
  /** The prompt is a list of {@link PromptMessage}. The versions of the specification write files differently: no type of ours fits all of them. */
  readonly doStream: (
    options: CallOptions & { readonly prompt: never[] },
  ) => PromiseLike<{ readonly stream: AsyncIterable<StreamPart> }>;
}

/** By a media type as `image/png`, `image/*` or `*\/*` what addresses in lower case match. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

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
  | { readonly role: 'user'; readonly content: (TextPart | FilePart)[] }
  | { readonly role: 'assistant'; readonly content: (TextPart | ReasoningPart | CallPart)[] }
  | { readonly role: 'tool'; readonly content: ResultPart[] };

/** What the provider wants back with a part: what it gave as `providerMetadata`. */
interface ForProvider {
  readonly providerOptions?: Readonly<Record<string, unknown>>;
}

interface TextPart extends ForProvider {
  readonly type: 'text';
  readonly text: string;
}

interface ReasoningPart extends ForProvider {
  readonly type: 'reasoning';
  readonly text: string;
}

/** A file; up to v3 its data is base64 or an address, from v4 on an object says which. */
export interface FilePart {
  readonly type: 'file';
  readonly mediaType: string;
  readonly filename?: string;
  readonly data:
    string | URL | { readonly type: 'data'; readonly data: string } | { readonly type: 'url'; readonly url: URL };
}

interface CallPart extends ForProvider {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

interface ResultPart {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output:
    | { readonly type: 'text' | 'error-text'; readonly value: string }
    | { readonly type: 'content'; readonly value: ResultContent[] };
}

/** A file is `media` in v2, data or an address in v3, and a file as users send it from v4 on. */
export type ResultContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'media' | 'image-data' | 'file-data'; readonly data: string; readonly mediaType: string }
  | { readonly type: 'image-url' | 'file-url'; readonly url: string }
  | FilePart;

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
