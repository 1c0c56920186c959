/** A count of tokens as an API gives it. What is no count, as the NaN or null of some APIs, counts as none. */
export const toTokens = (count: unknown): number =>
  Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : 0;
