import { unavailable } from '@agent-workflow/kit/errors';
import type { ThreadKey } from '../ports/record.ts';
import { UnmeasuredSize } from './size.ts';
import type { ThreadChanges } from '../ports/changes.ts';
import type { ThreadReads } from '../ports/reads.ts';

/** Attempts at measuring a thread that changes meanwhile: only a service of an earlier version changes it without its size. */
const attempts = 5;

/** Makes changes whose decisions need the thread's size. A head that does not hold it is measured, and has it from then on. */
export function createSizedChange(
  store: ThreadChanges & ThreadReads,
  change: ThreadChanges['change'],
): ThreadChanges['change'] {
  return async (key, reads, decide) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await change(key, reads, decide);
      } catch (error) {
        if (!(error instanceof UnmeasuredSize)) throw error;
        if (attempt === attempts) throw unavailable(`thread "${key.threadId}" changes too often to be measured`, error);
        await keepSize(store, key);
      }
    }
  };
}

async function keepSize(store: ThreadChanges & ThreadReads, key: ThreadKey): Promise<void> {
  const measured = await store.measure(key);
  if (!measured) return;
  const { version, fields, context } = measured;
  await store.change(key, {}, ({ head }) => ({
    ...(head?.version === version && !head.size ? { change: { head: { ...head, size: { fields, context } } } } : {}),
    reply: undefined,
  }));
}
