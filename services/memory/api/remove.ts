import { invalid, type ServiceError } from '@agent-workflow/kit/errors';
import type { Memory } from '@agent-workflow/protos/memory';
import { checkedSelection, refuseLate } from '../record/checks.ts';
import { narrows, readSelection } from '../record/filters.ts';
import { absent } from './items.ts';
import { toIdempotent, type Parts } from './parts.ts';

export const createDelete =
  (parts: Parts): Memory['delete'] =>
  async (request, call) => {
    const { owner, memoryId } = request;
    refuseLate(call);
    const { count } = await parts.store.remove(owner, [memoryId], toIdempotent(parts, 'delete', request));
    if (count === 0) throw absent(memoryId);
    return {};
  };

export const createForget =
  (parts: Parts): Memory['forget'] =>
  async (request, call) => {
    const { owner, selection, all } = request;
    refuseLate(call);
    const selected = readSelection(checkedSelection(selection), parts.now());
    if (!all && !narrows(selected)) throw nothingNarrows();
    const { heads } = await parts.store.list({ owner, ...selected, limit: Infinity, without: 'metadata' });
    const ids = heads.map(({ memoryId }) => memoryId);
    const { memoryIds, count } = await parts.store.remove(owner, ids, toIdempotent(parts, 'forget', request));
    return { memoryIds, deletedCount: count };
  };

const nothingNarrows = (): ServiceError =>
  invalid(
    [],
    'must have memory_type, category, filters or config.thread_id; options.all forgets everything',
    'missing',
  );
