/** Why an answer of a model ended. `unknown`: the provider ended the answer and gave no reason that is known here. */
export const finishReasons = ['stop', 'length', 'content_filter', 'tool_calls', 'error', 'unknown'] as const;
export type FinishReason = (typeof finishReasons)[number];

/** The tokens of one model, and how often its answers ended for which reason. */
export interface ModelUsage {
  /** The name under which the model was asked. */
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Absent: no answer had a reason. A reason that no answer had is absent. */
  readonly finishReasons?: FinishCounts;
}

type FinishCounts = Readonly<Partial<Record<FinishReason, number>>>;

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
  const { model, inputTokens, outputTokens, ...rest } = (value ?? {}) as Partial<Record<keyof ModelUsage, unknown>>;
  const { finishReasons: reasons = {} } = rest;
  return typeof model === 'string' && [inputTokens, outputTokens].every(isCount) && isFinishCounts(reasons);
}

/** Reasons that a later version counts are none here. */
const isFinishCounts = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every(isCount);

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** Counts of both by reason; `undefined` when neither has any. */
export function combineFinishes(
  one: FinishCounts = {},
  other: FinishCounts = {},
  combine: (one: number, other: number) => number = addTokens,
): FinishCounts | undefined {
  const counts = finishReasons.flatMap((reason) => {
    const count = combine(one[reason] ?? 0, other[reason] ?? 0);
    return count > 0 ? [[reason, count] as const] : [];
  });
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

/** The sum of two counts of tokens. One that no number can hold exactly stays at the largest that one can. */
export const addTokens = (one: number, other: number): number => Math.min(one + other, Number.MAX_SAFE_INTEGER);

/** The tokens of all models together. */
export const totalOf = (usage: Usage): Tokens => ({
  inputTokens: usage.reduce((sum, { inputTokens }) => addTokens(sum, inputTokens), 0),
  outputTokens: usage.reduce((sum, { outputTokens }) => addTokens(sum, outputTokens), 0),
});

/** What replies show of the usage of a run. */
export const toUsageItem = (usage: Usage): Readonly<Record<string, unknown>> => ({
  models: Object.fromEntries(
    usage.map(({ model, finishReasons: reasons, ...tokens }) => [
      model,
      { ...toTokensItem(tokens), ...(reasons && { finish_reasons: reasons }) },
    ]),
  ),
  ...toTokensItem(totalOf(usage)),
});

type Tokens = Pick<ModelUsage, 'inputTokens' | 'outputTokens'>;

const toTokensItem = ({ inputTokens, outputTokens }: Tokens): object => ({
  input_tokens: inputTokens,
  output_tokens: outputTokens,
});
