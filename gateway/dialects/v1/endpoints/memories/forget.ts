import { Forgotten, ForgetMemories } from '../../schemas/memories.ts';
import { endpoint } from '../common/endpoint.ts';
import { selectionOf } from './selection.ts';
import * as examples from './examples.ts';

const nothingSelected =
  'nothing is selected, so nothing was deleted: give memory_type, category, filters or config.thread_id; options {"all": true} forgets everything';

/** Deletes all memories that match. Without any condition none do: an empty body must not delete all memories of an owner. */
export const forgetMemories = endpoint({
  name: 'forgetMemories',
  tag: 'memories',
  summary: 'Forget the memories that match',
  description:
    'Deletes all memories that meet every condition of the body, for good. Without a condition nothing is selected and nothing deleted, which `message` says, unless `options` is `{"all": true}`.',
  example: examples.forgetMemories,
  method: 'POST',
  path: '/v1/store/memories/forget',
  access: { resource: 'store', action: 'delete' },
  input: ForgetMemories,
  reply: Forgotten,
  handle: async ({ input, owner, idempotency, call, addReplyMetadata }, { memory }) => {
    const selection = selectionOf(input);
    const all = input.options?.all === true;
    if (!all && Object.keys(selection).length === 0) {
      addReplyMetadata({ message: nothingSelected });
      return JSON.stringify({ ...reply([], 0), message: nothingSelected });
    }
    const { memoryIds, deletedCount } = await memory.forget({ owner, selection, all, ...idempotency }, call());
    return JSON.stringify(reply(memoryIds, deletedCount ?? memoryIds.length));
  },
});

const reply = (memoryIds: readonly string[], count: number): object => ({
  success: true,
  deleted_count: count,
  memory_ids: memoryIds,
  has_more: count > memoryIds.length,
});
