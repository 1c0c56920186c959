import type { Static } from 'typebox';
import { maxLimit } from '../../schemas/common.ts';
import type { ThreadsQuery } from '../../schemas/threads.ts';

/** The page that a list's input asks for. */
export const pageOf = (input: Static<typeof ThreadsQuery>) => ({
  limit: Math.min(input.limit, maxLimit),
  offset: Math.min(input.offset, Number.MAX_SAFE_INTEGER),
  ...(input.cursor !== undefined && { cursor: input.cursor }),
  ...(input.search && { search: input.search }),
});

/** Whether a list has more behind its page, and where it goes on. */
export const goOn = (cursor: string | undefined): Record<string, string> =>
  cursor === undefined ? { has_more: 'false' } : { has_more: 'true', cursor: JSON.stringify(cursor) };
