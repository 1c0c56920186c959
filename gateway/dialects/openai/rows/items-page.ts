import { refusalWith } from '../replies/refusal.ts';
import type { ItemsPage } from '../schemas/responses.ts';

export type Item = Readonly<Record<string, unknown>>;

/** Items in an order: the newest first, unless it is asked for the other way round. */
export const inOrder = (items: readonly Item[], { order = 'desc' }: Pick<ItemsPage, 'order'>): readonly Item[] =>
  order === 'asc' ? items : items.toReversed();

/** The items behind one of them; all of them where none is named. @throws Invalid where it is not among them */
export function itemsAfter(items: readonly Item[], after: string | undefined): readonly Item[] {
  if (after === undefined) return items;
  const at = items.findIndex(({ id }) => id === after);
  if (at === -1) throw noSuchItem();
  return items.slice(at + 1);
}

export const noSuchItem = () => refusalWith('Invalid', 'invalid_value', 'after: there is no such item', ['after']);

/** A page of items that are all known. @throws Invalid for an `after` that is none of them */
export function itemsPage(items: readonly Item[], page: ItemsPage): object {
  const rest = itemsAfter(inOrder(items, page), page.after);
  return listOf(rest.slice(0, page.limit), rest.length > page.limit);
}

/** A list as OpenAI's clients read it. */
export const listOf = (data: readonly Item[], hasMore: boolean): object => ({
  ...{ object: 'list', data },
  first_id: data[0]?.['id'] ?? null,
  last_id: data.at(-1)?.['id'] ?? null,
  has_more: hasMore,
});
