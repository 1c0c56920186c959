import { invalid } from '@agent-workflow/kit/errors';
import type { Static } from 'typebox';
import type { ForgetMemories } from '../schemas/memories.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { selectionOf } from './memories.ts';

/**
 * Removes all memories that match, for good.
 * @throws Invalid when nothing narrows it: an empty body must not wipe an owner's memory.
 */
export async function forgetMemories(
  ask: Ask<unknown, Static<typeof ForgetMemories>>,
  { memory }: Services,
): Promise<string> {
  const { input, owner } = ask;
  const selection = selectionOf(input);
  const all = input.options?.['all'] === true;
  if (!all && Object.keys(selection).length === 0) {
    throw invalid(
      ['body'],
      'needs memory_type, category, filters or config.thread_id; options {"all": true} forgets everything',
      'missing',
    );
  }
  const { memoryIds, deletedCount } = await memory.forget({ owner, selection, all, ...ask.once }, ask.call());
  const count = deletedCount ?? memoryIds.length;
  return JSON.stringify({
    success: true,
    deleted_count: count,
    memory_ids: memoryIds,
    has_more: count > memoryIds.length,
  });
}
