import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { RunLog } from '../ports/log.ts';

/** The longest that a reply waits, in milliseconds: a call without an answer is made a second time after one second. */
const mostMs = 500;

/** The last event of a run that ends within `ms`; `undefined` when it goes on, or when its log cannot be read now. */
export async function endSoon(
  eventLog: Pick<RunLog, 'end'>,
  { runId, ms }: { readonly runId: string; readonly ms: number },
  { signal }: Pick<Call, 'signal'>,
): Promise<RunEvent | undefined> {
  const waiting = new AbortController();
  const leave = (): void => waiting.abort(goesOn);
  const timer = setTimeout(leave, Math.min(ms, mostMs));
  signal.addEventListener('abort', leave);
  try {
    if (signal.aborted) leave();
    return await eventLog.end(runId, waiting.signal);
  } catch {
    // The caller waits by a call of its own, which says what is wrong.
    return undefined;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}

const goesOn = new Error('the run goes on');
