import { unavailable } from '@agent-workflow/kit/errors';
import type { ThreadKey, ThreadStore } from '../ports/port.ts';
import { UnmeasuredSize } from './size.ts';

/** How often a thread is measured that changes meanwhile: only a service of an earlier version changes it without its size. */
const attempts = 5;

/** Makes changes whose decisions need the thread's size. A head that does not hold it is measured, and has it from then on. */
export function createSizedChange(store: ThreadStore, change: ThreadStore['change']): ThreadStore['change'] {
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

async function keepSize(store: ThreadStore, key: ThreadKey): Promise<void> {
  const measured = await store.measure(key);
  if (!measured) return;
  const { version, fields, context } = measured;
  await store.change(key, {}, ({ head }) => ({
    ...(head?.version === version && !head.size ? { change: { head: { ...head, size: { fields, context } } } } : {}),
    reply: undefined,
  }));
}
