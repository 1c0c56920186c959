import { pageBytes, toPage, type Page } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { PageLimits } from '../ports/lists.ts';

/** One of the store's lists, whose order marks follow. */
export interface Listing<Row, Mark> {
  readonly read: (
    page: PageLimits & { readonly offset?: number; readonly after?: Mark | undefined },
  ) => Promise<readonly Row[]>;
  /** The mark of a row: the next page begins after it. */
  readonly markOf: (row: Row) => Mark;
  readonly sizeOf: (row: Row) => number;
}

interface PageRequest<Mark> {
  readonly limit: number;
  readonly offset: number;
  /** The page begins after it, and `offset` is counted from there. */
  readonly after?: Mark | undefined;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** Rows that one request to the store passes over. */
const skippedAtOnce = 10_000;

/** Rows that a search reads in one page. */
const searchedAtOnce = 500;

/** One page. The store skips the rows before it, a bounded number at a time. */
export async function readPage<Row, Mark>(
  listing: Listing<Row, Mark>,
  { limit, offset, after, signal }: PageRequest<Mark>,
): Promise<Page<Row>> {
  const yielder = createYielder({ signal });
  let mark = after;
  let left = offset;
  for (; left > skippedAtOnce; left -= skippedAtOnce) {
    const [last] = await listing.read({ limit: 1, offset: skippedAtOnce - 1, after: mark });
    if (!last) return { items: [], hasMore: false };
    mark = listing.markOf(last);
    await yielder.yield();
  }
  const rows = await listing.read({ limit: limit + 1, offset: left, after: mark, bytes: pageBytes });
  return toPage(rows, { limit, sizeOf: listing.sizeOf });
}

export interface SearchRequest<Row, Mark> extends PageRequest<Mark> {
  readonly matches: (row: Row) => boolean;
  /** The most rows that are tested. */
  readonly most?: number;
}

/** One page of the rows that match; `offset` counts those. */
export async function searchPage<Row, Mark>(
  listing: Listing<Row, Mark>,
  { limit, offset, after, signal, matches, most = Infinity }: SearchRequest<Row, Mark>,
): Promise<Page<Row>> {
  const yielder = createYielder({ signal });
  const found: Row[] = [];
  let bytes = 0;
  let toSkip = offset;
  let seen = 0;
  for await (const row of rowsOf(listing, after)) {
    if (yielder.isDue()) await yielder.yield();
    if (seen++ === most) break;
    if (!matches(row) || toSkip-- > 0) continue;
    found.push(row);
    bytes += listing.sizeOf(row);
    if (found.length > limit || (bytes > pageBytes && found.length > 1)) break;
  }
  return toPage(found, { limit, sizeOf: listing.sizeOf });
}

/** The rows after a place, read a bounded part at a time. */
export async function* rowsOf<Row, Mark>(
  { read, markOf, sizeOf }: Listing<Row, Mark>,
  after: Mark | undefined,
): AsyncGenerator<Row> {
  for (let mark = after; ;) {
    const rows = await read({ limit: searchedAtOnce + 1, after: mark, bytes: pageBytes });
    const { items, hasMore } = toPage(rows, { limit: searchedAtOnce, sizeOf });
    yield* items;
    const last = items.at(-1);
    if (!hasMore || !last) return;
    mark = markOf(last);
  }
}
