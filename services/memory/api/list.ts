import { createQuota, pageBytes, toPage } from '@agent-workflow/kit/pages';
import type { Memory } from '@agent-workflow/protos/memory';
import type { StoredMemory } from '../ports/memory.ts';
import { checkedSelection, readCount, readOffset, refuseLate } from '../record/checks.ts';
import { cursorsOf } from '../record/cursor.ts';
import { readSelection } from '../record/filters.ts';
import { itemBytes, readMemories, toItem } from './items.ts';
import type { Parts } from './parts.ts';

export const createList =
  (parts: Parts): Memory['list'] =>
  async ({ owner, selection, limit: maxItems, offset: skipped, cursor }, call) => {
    refuseLate(call);
    const limit = readCount(maxItems, ['limit']);
    const offset = cursor === undefined ? readOffset(skipped) : 0;
    const { fromCursor, toCursor } = cursorsOf({ owner, selection });
    const after = cursor === undefined ? undefined : fromCursor(cursor);
    const selected = readSelection(checkedSelection(selection), parts.now());
    const page = { limit: limit + 1, offset, after, without: 'metadata' } as const;
    const { heads, total } = await parts.store.list({ owner, ...selected, ...page });
    const found: StoredMemory[] = [];
    const isEnough = createQuota(pageBytes);
    const listed = heads.slice(0, limit);
    const ids = listed.map(({ memoryId }) => memoryId);
    for await (const memory of readMemories(parts, { owner, ids }, call)) {
      found.push(memory);
      if (isEnough(itemBytes(memory))) break;
    }
    const { items, hasMore } = toPage(found, { limit, sizeOf: itemBytes });
    // Of a page that is not full by its size all were read: those that expired or were removed meanwhile are behind the reader too.
    const last = hasMore ? items.at(-1) : listed.at(-1);
    return {
      memories: items.map((memory) => toItem(memory)),
      total,
      ...((hasMore || heads.length > limit) && last && { cursor: toCursor(last) }),
    };
  };
