interface Page {
  readonly offset: number;
  /** Items of this page. */
  readonly count: number;
  /** Items of all pages. */
  readonly total: number;
}

/** The headers that say where the next page begins, if there is one. */
export const pageHeaders = ({ offset, count, total }: Page): Readonly<Record<string, string>> => ({
  'X-Pagination-Total': String(total),
  ...(count > 0 && offset + count < total && { 'X-Pagination-Next': String(offset + count) }),
});
