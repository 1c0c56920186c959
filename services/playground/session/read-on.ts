/** One page of a list of the service. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Asks for the page after it; absent on the last one. */
  readonly cursor?: string | undefined;
}

export type LoadPage<T> = (cursor: string | undefined, signal: AbortSignal) => Promise<ListPage<T>>;

/** So many pages are read at a time until one has an item. */
const pagesAtOnce = 5;

/** Reads a page, and those after it while they are empty: a filter may leave nothing of a page that is not the last. */
export async function readOn<T>(
  load: LoadPage<T>,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<ListPage<T>> {
  let page = await load(cursor, signal);
  for (let count = 1; count < pagesAtOnce && page.items.length === 0 && page.cursor !== undefined; count++)
    page = await load(page.cursor, signal);
  return page;
}
