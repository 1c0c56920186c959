const bytesPerToken = 4;

/** How many tokens a text counts for: four bytes of UTF-8 each, the last one perhaps not full. */
export const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** What fits into a budget, in order: the first always does, and what is too large is passed over. */
export function fitWithin<T>(items: readonly T[], budget: number, sizeOf: (item: T) => number): T[] {
  let left = budget;
  return items.filter((item, index) => {
    const size = sizeOf(item);
    if (index > 0 && size > left) return false;
    left -= size;
    return true;
  });
}
