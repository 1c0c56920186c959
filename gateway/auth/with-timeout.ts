import { unavailable } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';

/** What `work` gives, now or later. @throws what it throws; Unavailable when it takes longer than `ms`. */
export async function withTimeout<T>(work: () => T | Promise<T>, ms: number): Promise<T> {
  const working = (async () => work())();
  if (await settledWithin(working, ms)) return working;
  throw unavailable('the backend took too long', new Error(`no answer within ${ms} ms`));
}
