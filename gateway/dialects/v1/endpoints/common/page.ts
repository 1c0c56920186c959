import type { Static } from 'typebox';
import { maxLimit } from '../../schemas/common.ts';
import type { ThreadsQuery } from '../../schemas/threads.ts';

/** The page that a list's input asks for. */
export const pageOf = (input: Static<typeof ThreadsQuery>) => ({
  limit: Math.min(input.limit, maxLimit),
  offset: input.offset,
  ...(input.cursor !== undefined && { cursor: input.cursor }),
  ...(input.search && { search: input.search }),
});

/** `has_more`, and the cursor of the next page if there is one. */
export const nextPage = (cursor: string | undefined): Record<string, string> =>
  cursor === undefined ? { has_more: 'false' } : { has_more: 'true', cursor: JSON.stringify(cursor) };
