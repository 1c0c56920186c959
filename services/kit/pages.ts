import { sizes } from './sizes.ts';

const envelopeBytes = 4096;

/** What the items of a page may take together; the rest of the page is for what stands around them. */
export const pageBytes = sizes.page - envelopeBytes;

export interface Page<T> {
  readonly items: readonly T[];
  /** Whether there is more behind these items. */
  readonly hasMore: boolean;
}

interface PageBounds<T> {
  /** At most so many items. */
  readonly limit: number;
  /** At most so many bytes, but always one item, so that whoever goes on behind a page gets further. */
  readonly bytes?: number;
  /** How many bytes one item takes in a reply. */
  readonly sizeOf: (item: T) => number;
}

/** The page that `items` begin with. A list of which more was read than fits has more. */
export function toPage<T>(items: readonly T[], { limit, bytes = pageBytes, sizeOf }: PageBounds<T>): Page<T> {
  let left = bytes;
  const full = items.findIndex((item, index) => index >= limit || ((left -= sizeOf(item)) < 0 && index > 0));
  return full === -1 ? { items, hasMore: false } : { items: items.slice(0, full), hasMore: true };
}

/**
 * Says of a list that is read item by item when enough of it has been read for a page of so many bytes: one item more than
 * fits, and two at least, so that {@link toPage} finds that there is more.
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
