/** A part of the content of a message of LangChain. */
export interface LangChainPart {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** A call of a tool as a message of LangChain has it. */
export interface LangChainCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly id: string;
  readonly type: 'tool_call';
}

/** The kinds of messages that LangChain's clients read. */
export type LangChainType = 'human' | 'ai' | 'system' | 'tool';

/** A message as LangChain writes it in JSON (`langchain-core` 1.8, `BaseMessage.model_dump`). */
export interface LangChainMessage {
  readonly content: string | readonly LangChainPart[];
  readonly additional_kwargs: Readonly<Record<string, unknown>>;
  readonly response_metadata: Readonly<Record<string, unknown>>;
  readonly type: LangChainType;
  readonly name: string | null;
  readonly id: string;
  /** Of `ai`. */
  readonly tool_calls?: readonly LangChainCall[];
  /** Of `ai`: calls whose arguments are no JSON. */
  readonly invalid_tool_calls?: readonly unknown[];
  /** Of `ai`: `{ input_tokens, output_tokens, total_tokens }`. */
  readonly usage_metadata?: unknown;
  /** Of `tool`. */
  readonly tool_call_id?: string;
  readonly artifact?: unknown;
  readonly status?: 'success' | 'error';
}
