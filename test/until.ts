import { setTimeout as wait } from 'node:timers/promises';
import { byLoad } from './by-load.ts';

const pauseMs = 20;

/** Resolves as soon as the condition holds. @throws Error when it does not within `timeoutMs`, or longer where the machine is busy. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const begun = Date.now();
  while (!(await holds())) {
    const waitedMs = Date.now() - begun;
    if (waitedMs > byLoad(timeoutMs))
      throw new Error(`the condition did not hold within ${waitedMs} ms: ${holds.toString()}`);
    await wait(pauseMs);
  }
}
