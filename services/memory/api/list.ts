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
    const ids = heads.slice(0, limit).map(({ memoryId }) => memoryId);
    for await (const memory of readMemories(parts, { owner, ids }, call)) {
      found.push(memory);
      if (isEnough(itemBytes(memory))) break;
    }
    const { items, hasMore } = toPage(found, { limit, sizeOf: itemBytes });
    const last = items.at(-1);
    return {
      memories: items.map((memory) => toItem(memory)),
      total,
      ...((hasMore || heads.length > limit) && last && { cursor: toCursor(last) }),
    };
  };
