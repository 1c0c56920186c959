import type { MemoryHead } from '../ports/memory.ts';
import type { ListPage, ListQuery } from '../ports/records.ts';
import { byRecency } from './order.ts';

/** The page of a query from heads that come newest first, and how many of the heads pass. */
export async function toListPage(
  heads: Iterable<MemoryHead> | AsyncIterable<MemoryHead>,
  { accepts, after, offset = 0, limit, without }: ListQuery,
): Promise<ListPage> {
  const page: MemoryHead[] = [];
  let total = 0;
  let toSkip = offset;
  for await (const head of heads) {
    if (accepts && !accepts(head)) continue;
    total += 1;
    if (page.length >= limit || (after && byRecency(head, after) <= 0)) continue;
    if (toSkip > 0) toSkip -= 1;
    else page.push(without === undefined ? head : { ...head, metadata: {} });
  }
  return { heads: page, total };
}
