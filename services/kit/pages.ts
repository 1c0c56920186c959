import { sizes } from './sizes.ts';

const envelopeBytes = 4096;

/** How many bytes the items of a page may have together. The rest of the page is for the envelope. */
export const pageBytes = sizes.page - envelopeBytes;

export interface Page<T> {
  readonly items: readonly T[];
  /** Whether there are more items after these. */
  readonly hasMore: boolean;
}

interface PageBounds<T> {
  /** The most items. */
  readonly limit: number;
  /** The most bytes of the items together. A page always has one item, so that a caller who reads page by page reaches the end. */
  readonly bytes?: number;
  /** How many bytes an item has in a reply. */
  readonly sizeOf: (item: T) => number;
}

/** The first page of `items`. When not all of them fit, there are more. */
export function toPage<T>(items: readonly T[], { limit, bytes = pageBytes, sizeOf }: PageBounds<T>): Page<T> {
  let left = bytes;
  const full = items.findIndex((item, index) => index >= limit || ((left -= sizeOf(item)) < 0 && index > 0));
  return full === -1 ? { items, hasMore: false } : { items: items.slice(0, full), hasMore: true };
}

/**
 * For a list that is read item by item: returns a function that gets the size of each item and returns whether enough items were read
 * for a page. That is one item more than fits, and at least two, so that {@link toPage} sees that there are more.
 */
export function createQuota(bytes = Infinity): (size: number) => boolean {
  let left = bytes;
  let count = 0;
  return (size) => {
    left -= size;
    count += 1;
    return left < 0 && count > 1;
  };
}
