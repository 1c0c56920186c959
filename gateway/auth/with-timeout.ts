import { unavailable } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';

/** The result of `work`. @throws what `work` throws; Unavailable when it takes longer than `ms`. */
export async function withTimeout<T>(work: () => T | Promise<T>, ms: number): Promise<T> {
  const working = (async () => work())();
  if (await settledWithin(working, ms)) return working;
  throw unavailable(
    'an authentication or authorization backend did not answer in time; try again later',
    new Error(`no answer within ${ms} ms`),
  );
}
