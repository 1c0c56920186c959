import { setTimeout as delay } from 'node:timers/promises';

/** What waits in this process for a run on a thread, by owner and thread. */
const waiting = new Map<string, Set<() => void>>();

interface ThreadName {
  readonly owner: string;
  readonly threadId: string;
}

const keyOf = ({ owner, threadId }: ThreadName): string => JSON.stringify([owner, threadId]);

/** Says that a run was accepted on a thread. Only a speed-up: what waits reads the record from time to time, wherever the run was accepted. */
export function wake(thread: ThreadName): void {
  for (const go of waiting.get(keyOf(thread)) ?? []) go();
}

/** Resolves after so many milliseconds, when a run is accepted on the thread, or when the signal fires. */
export async function pause(thread: ThreadName, ms: number, signal: AbortSignal): Promise<void> {
  const key = keyOf(thread);
  const those = waiting.get(key) ?? new Set();
  waiting.set(key, those);
  const woken = new AbortController();
  const go = (): void => woken.abort();
  those.add(go);
  try {
    await delay(ms, undefined, { signal: AbortSignal.any([signal, woken.signal]) });
  } catch {
    // It ends early.
  } finally {
    those.delete(go);
    if (those.size === 0 && waiting.get(key) === those) waiting.delete(key);
  }
}
