import { notFound } from '@agent-workflow/kit/errors';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';

/** The key alone, without the other fields of a request. */
export const keyOf = ({ owner, threadId }: ThreadKey): ThreadKey => ({ owner, threadId });

export const idsOf = (messages: readonly MessageEntry[]): string[] => messages.map(({ messageId }) => messageId);

/** @throws NotFound for a thread that is absent or is being deleted. */
export async function liveHead(store: ThreadReads, key: ThreadKey): Promise<Head> {
  const head = await store.getHead(key);
  if (!head || head.deleting) throw notFound(`thread "${key.threadId}" does not exist`);
  return head;
}

/** @throws NotFound for a run that is not on record. */
export async function knownRun(store: ThreadReads, owner: string, runId: string): Promise<RunRecord> {
  const run = await store.getRun(owner, runId);
  if (!run) throw notFound(`run "${runId}" does not exist`);
  return run;
}
