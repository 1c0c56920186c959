import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import type { LLMResult } from '@langchain/core/outputs';
import type { NodeContext } from '@agent-workflow/graph';

type Started = Parameters<NonNullable<BaseCallbackHandler['handleChatModelStart']>>;

/** What an answer of a model says of itself, as far as its provider does. */
interface Answered {
  readonly usage_metadata?: { readonly input_tokens?: unknown; readonly output_tokens?: unknown };
  readonly response_metadata?: { readonly model_name?: unknown };
}

const unnamed = 'unknown';

/** Reports the tokens of each answer of a model, which models call it with, to `ctx.usage`. */
export class ReportedUsage extends BaseCallbackHandler {
  override readonly name = 'agent-workflow-usage';
  override awaitHandlers = true;
  readonly #report: NodeContext['usage'];
  /** The models of the calls under way. */
  readonly #models = new Map<string, string>();

  constructor(report: NodeContext['usage']) {
    super();
    this.#report = report;
  }

  override handleChatModelStart(...[, , call, , , , metadata = {}]: Started): void {
    const model = metadata['ls_model_name'];
    if (typeof model === 'string' && model !== '') this.#models.set(call, model);
  }

  override handleLLMEnd({ generations }: LLMResult, call: string): void {
    const known = this.#models.get(call);
    this.#models.delete(call);
    for (const generation of generations.flat()) {
      const { message } = generation as { readonly message?: Answered };
      const { input_tokens: inputTokens, output_tokens: outputTokens } = message?.usage_metadata ?? {};
      if (!isCount(inputTokens) || !isCount(outputTokens)) continue;
      const named = message?.response_metadata?.model_name;
      const model = typeof named === 'string' && named !== '' ? named : (known ?? unnamed);
      this.#report({ model, inputTokens, outputTokens });
    }
  }

  override handleLLMError(_error: unknown, call: string): void {
    this.#models.delete(call);
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
