const bytesPerToken = 4;

/** How many tokens a text counts as: one for every four bytes of UTF-8, rounded up. */
export const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** Checks which of a row of items fit into a budget. The first always fits; a later one that is too large is skipped. */
export function createBudget<T>(budget: number, sizeOf: (item: T) => number): (item: T) => boolean {
  let left = budget;
  let isFirst = true;
  return (item) => {
    const size = sizeOf(item);
    if (!isFirst && size > left) return false;
    isFirst = false;
    left -= size;
    return true;
  };
}
