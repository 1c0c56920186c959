import { conflict, type ServiceError } from '@agent-workflow/kit/errors';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { startsAnew, type Continuing } from './continuing.ts';
import { fromJson } from './json.ts';

/**
 * Why a run of somebody who may not answer for the owner, because the thread is only shared with them, does not begin in a thread that waits: it would
 * drop what that waits for. `undefined` when it begins.
 */
export function refusalToDrop(
  { threadId }: Pick<ThreadKey, 'threadId'>,
  head: Head,
  run: Continuing & Pick<RunRecord, 'options'>,
): ServiceError | undefined {
  if (!startsAnew(head, run) || !keepsQuestions(run)) return undefined;
  return conflict(`thread "${threadId}" waits for an answer, which this would drop`);
}

function keepsQuestions({ options }: Pick<RunRecord, 'options'>): boolean {
  if (!Buffer.from(options.buffer, options.byteOffset, options.byteLength).includes('"keepsQuestions":')) return false;
  return (fromJson(options) as { readonly keepsQuestions?: boolean }).keepsQuestions === true;
}
