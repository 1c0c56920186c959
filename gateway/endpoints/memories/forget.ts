import { invalidAt } from '../../http/fields.ts';
import { Forgotten, ForgetMemories } from '../../schemas/memories.ts';
import { endpoint } from '../common/services.ts';
import { selectionOf } from './selection.ts';

/**
 * Removes all memories that match, for good.
 * @throws Invalid when nothing narrows it: an empty body must not wipe an owner's memory.
 */
export const forgetMemories = endpoint({
  name: 'forgetMemories',
  tag: 'memories',
  summary: 'Forget the memories that match',
  method: 'POST',
  path: '/v1/store/memories/forget',
  access: { resource: 'store', action: 'delete' },
  input: ForgetMemories,
  reply: Forgotten,
  handle: async ({ input, owner, once, call }, { memory }) => {
    const selection = selectionOf(input);
    const all = input.options?.['all'] === true;
    if (!all && Object.keys(selection).length === 0) {
      throw invalidAt(
        ['body'],
        'needs memory_type, category, filters or config.thread_id; options {"all": true} forgets everything',
        'missing',
      );
    }
    const { memoryIds, deletedCount } = await memory.forget({ owner, selection, all, ...once }, call());
    const count = deletedCount ?? memoryIds.length;
    return JSON.stringify({
      success: true,
      deleted_count: count,
      memory_ids: memoryIds,
      has_more: count > memoryIds.length,
    });
  },
});
