import { setTimeout as wait } from 'node:timers/promises';

const pauseMs = 20;

/** Resolves as soon as the condition holds. @throws Error when it does not within `timeoutMs`. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline)
      throw new Error(`the condition did not hold within ${timeoutMs} ms: ${holds.toString()}`);
    await wait(pauseMs);
  }
}
