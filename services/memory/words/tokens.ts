const bytesPerToken = 4;

/** How many tokens a text counts for: four bytes of UTF-8 each, the last one perhaps not full. */
export const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** Says of items in their order which fit into a budget: the first always does, and what is too large is passed over. */
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
