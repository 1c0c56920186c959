import { invalidAt } from '../../http/fields.ts';
import { Forgotten, ForgetMemories } from '../../schemas/memories.ts';
import { endpoint } from '../common/services.ts';
import { selectionOf } from './selection.ts';
import * as examples from './examples.ts';

/**
 * Deletes all memories that match.
 * @throws Invalid without any condition: an empty body must not delete all memories of an owner.
 */
export const forgetMemories = endpoint({
  name: 'forgetMemories',
  tag: 'memories',
  summary: 'Forget the memories that match',
  description:
    'Deletes all memories that meet every condition of the body, for good. A body without a condition is 422, unless `options` is `{"all": true}`.',
  example: examples.forgetMemories,
  method: 'POST',
  path: '/v1/store/memories/forget',
  access: { resource: 'store', action: 'delete' },
  input: ForgetMemories,
  reply: Forgotten,
  handle: async ({ input, owner, idempotency, call }, { memory }) => {
    const selection = selectionOf(input);
    const all = input.options?.all === true;
    if (!all && Object.keys(selection).length === 0) {
      throw invalidAt(
        ['body'],
        'needs memory_type, category, filters or config.thread_id; options {"all": true} forgets everything',
        'missing',
      );
    }
    const { memoryIds, deletedCount } = await memory.forget({ owner, selection, all, ...idempotency }, call());
    const count = deletedCount ?? memoryIds.length;
    return JSON.stringify({
      success: true,
      deleted_count: count,
      memory_ids: memoryIds,
      has_more: count > memoryIds.length,
    });
  },
});
