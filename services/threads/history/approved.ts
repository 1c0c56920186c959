import { userIdOf } from '@agent-workflow/kit/ids';
import type { Answerer } from '@agent-workflow/protos/answerer';
import type { ThreadReads } from '../ports/reads.ts';
import type { RunRecord } from '../ports/record.ts';
import { fromJson } from '../record/json.ts';
import type { Mark } from './undo.ts';

/**
 * What a thread is brought back to, or forked at, without an answer that others have given: that counts for the run which it was given to, once. What
 * comes behind it does not go on there, and the next message begins at the start of the graph, which asks again.
 * @param runAt reads the id of the run that stood there
 */
export async function withoutApproval(
  store: Pick<ThreadReads, 'getRun'>,
  owner: string,
  runAt: () => Promise<string | undefined>,
  mark: Mark,
): Promise<Mark> {
  if (mark.next.length === 0 || mark.openInterrupts.length > 0) return mark;
  const runId = await runAt();
  const run = runId === undefined ? undefined : await store.getRun(owner, runId);
  return run && isLetOn(owner, run) ? { ...mark, next: [] } : mark;
}

/** Whether others than the owner have let a run go on. */
function isLetOn(owner: string, { options }: Pick<RunRecord, 'options'>): boolean {
  const { answeredBy = [] } = fromJson(options) as { readonly answeredBy?: readonly Answerer[] };
  return answeredBy.some(({ by }) => by !== (userIdOf(owner) ?? owner));
}
