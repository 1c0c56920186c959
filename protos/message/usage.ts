/** The tokens of one model. */
export interface ModelUsage {
  /** The name under which the model was asked. */
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The tokens of several models: each model once, in the order of their names. As JSON it is the `usage_json` of a run. */
export type Usage = readonly ModelUsage[];

export const noUsage: Usage = [];

/** Reads the `usage_json` of a run; absent: none. What cannot be read counts as none: no list and no end of a run depends on it. */
export function fromUsageJson(json: string | undefined): Usage {
  if (json === undefined) return noUsage;
  try {
    const usage: unknown = JSON.parse(json);
    return isUsage(usage) ? usage : noUsage;
  } catch {
    return noUsage;
  }
}

/** Whether a value is what {@link fromUsageJson} reads. */
export const isUsage = (value: unknown): value is Usage => Array.isArray(value) && value.every(isModelUsage);

function isModelUsage(value: unknown): value is ModelUsage {
  const { model, inputTokens, outputTokens } = (value ?? {}) as Partial<Record<keyof ModelUsage, unknown>>;
  return typeof model === 'string' && [inputTokens, outputTokens].every(isCount);
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** The sum of two counts of tokens. One that no number can hold exactly stays at the largest that one can. */
export const addTokens = (one: number, other: number): number => Math.min(one + other, Number.MAX_SAFE_INTEGER);

/** The tokens of all models together. */
export const totalOf = (usage: Usage): Omit<ModelUsage, 'model'> => ({
  inputTokens: usage.reduce((sum, { inputTokens }) => addTokens(sum, inputTokens), 0),
  outputTokens: usage.reduce((sum, { outputTokens }) => addTokens(sum, outputTokens), 0),
});

/** What replies show of the usage of a run. */
export const toUsageItem = (usage: Usage): Readonly<Record<string, unknown>> => ({
  models: Object.fromEntries(usage.map(({ model, ...tokens }) => [model, toTokensItem(tokens)])),
  ...toTokensItem(totalOf(usage)),
});

const toTokensItem = ({ inputTokens, outputTokens }: Omit<ModelUsage, 'model'>): object => ({
  input_tokens: inputTokens,
  output_tokens: outputTokens,
});
