import type { ItemsPage } from '../schemas/responses.ts';

type Item = Readonly<Record<string, unknown>>;

/** A page of items that are all known: the newest first, unless it is asked for the other way round. */
export function itemsPage(items: readonly Item[], { after, limit, order = 'desc' }: ItemsPage): object {
  const sorted = order === 'asc' ? items : items.toReversed();
  const start = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  return listOf(sorted.slice(start, start + limit), start + limit < sorted.length);
}

/** A list as OpenAI's clients read it. */
export const listOf = (data: readonly Item[], hasMore: boolean): object => ({
  ...{ object: 'list', data },
  first_id: data[0]?.['id'] ?? null,
  last_id: data.at(-1)?.['id'] ?? null,
  has_more: hasMore,
});
