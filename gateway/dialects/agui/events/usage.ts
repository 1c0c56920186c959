interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** The tokens of a run, as its last event has them. */
export interface UsageItem extends Tokens {
  readonly models: Readonly<Record<string, Tokens>>;
}

/** The tokens of a run, model by model. */
export const toUsage = (usage: UsageItem | undefined): readonly object[] =>
  Object.entries(usage?.models ?? {}).map(([model, { input_tokens: inputTokens, output_tokens: outputTokens }]) => ({
    ...{ model, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
  }));
