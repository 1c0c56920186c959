import { idText } from '@agent-workflow/protos/message';
import type { Static } from 'typebox';
import { invalidAt } from '../../../../http/fields.ts';
import type { StopInput } from '../../schemas/runs.ts';

/** The thread that a body names: `thread_id`, else `config.thread_id`. */
export function threadOf(input: Static<typeof StopInput>): string {
  const named = input.thread_id ?? input.config?.thread_id;
  if (named === undefined) throw invalidAt(['body', 'thread_id'], 'is required', 'missing');
  return idText(named);
}
