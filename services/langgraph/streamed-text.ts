import { BaseCallbackHandler, type HandleLLMNewTokenCallbackFields } from '@langchain/core/callbacks/base';
import type { NodeContext } from '@agent-workflow/graph';

type Started = Parameters<NonNullable<BaseCallbackHandler['handleChatModelStart']>>;

/** Tags by which authors of LangGraph keep the text of a model from streams. */
const silentTags = ['nostream', 'langsmith:nostream'];

/**
 * Streams the first message of a model that has text. A node emits one message, so that those of models beside or after it come whole
 * with the end of the super-step. Models call it: what LangGraph streams passes a queue of the process, and what is still in it when a
 * super-step ends is lost.
 */
export class StreamedText extends BaseCallbackHandler {
  override readonly name = 'agent-workflow';
  /** Each chunk is emitted before the model goes on. */
  override awaitHandlers = true;
  /** Models stream though nodes call `invoke`. */
  readonly lc_prefer_streaming = true;
  readonly #emit: NodeContext['emit'];
  readonly #nodes: readonly string[] | undefined;
  /** Calls of models whose text may be streamed. */
  readonly #calls = new Set<string>();
  #id: string | undefined;
  #text = '';

  constructor(emit: NodeContext['emit'], nodes: readonly string[] | undefined) {
    super();
    this.#emit = emit;
    this.#nodes = nodes;
  }

  /** What was emitted, and the id of its message in LangGraph. */
  streamed(): { readonly id: string; readonly text: string } | undefined {
    return this.#id === undefined ? undefined : { id: this.#id, text: this.#text };
  }

  override handleChatModelStart(...[, , call, , , tags = [], metadata = {}]: Started): void {
    const isChosen = this.#nodes?.includes(String(metadata['langgraph_node'])) ?? true;
    if (isChosen && !silentTags.some((tag) => tags.includes(tag))) this.#calls.add(call);
  }

  override handleLLMNewToken(
    ...[token, , call, , , fields]: [string, unknown, string, string?, string[]?, HandleLLMNewTokenCallbackFields?]
  ): void {
    const message = fields?.chunk && 'message' in fields.chunk ? fields.chunk.message : undefined;
    const text = message?.text ?? token;
    if (text === '' || !this.#calls.has(call)) return;
    const id = message?.id ?? `run-${call}`;
    this.#id ??= id;
    if (id !== this.#id) return;
    this.#text += text;
    this.#emit(text);
  }

  override handleLLMEnd(_output: unknown, call: string): void {
    this.#calls.delete(call);
  }

  override handleLLMError(_error: unknown, call: string): void {
    this.#calls.delete(call);
  }
}
