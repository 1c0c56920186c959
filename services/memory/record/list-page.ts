import type { MemoryHead } from '../ports/memory.ts';
import type { ListPage, ListQuery } from '../ports/records.ts';
import { byRecency } from './order.ts';

/**
 * The page of a query, and how many of the heads pass. They come newest first, and those behind them that moved to the front meanwhile
 * come last.
 */
export async function toListPage(
  heads: Iterable<MemoryHead> | AsyncIterable<MemoryHead>,
  { accepts, after, offset = 0, limit, without }: ListQuery,
): Promise<ListPage> {
  const page: MemoryHead[] = [];
  const wanted = offset + limit;
  let total = 0;
  for await (const head of heads) {
    if (accepts && !accepts(head)) continue;
    total += 1;
    if (after && byRecency(head, after) <= 0) continue;
    const last = page[wanted - 1];
    if (last && byRecency(head, last) > 0) continue;
    page.push(without === undefined ? head : { ...head, metadata: {} });
  }
  return { heads: page.sort(byRecency).slice(offset, wanted), total };
}
