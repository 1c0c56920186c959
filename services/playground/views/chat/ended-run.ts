import type { Client, JsonObject, Run, RunError } from '@agent-workflow/client';
import { resultOf, type RunState } from './run-state.ts';

/** How a run has ended, by its record. The questions and calls of one that waits stand in its result. @throws RequestError when that cannot be read. */
export async function endStateOf(run: Run, client: Pick<Client, 'runs'>, signal: AbortSignal): Promise<RunState> {
  if (run.status === 'interrupted') return { restarts: 0, ...resultOf(await client.runs.wait(run.run_id, { signal })) };
  const error = run['error'] as (JsonObject & RunError) | undefined;
  return {
    ...{ runId: run.run_id, status: run.status, restarts: 0 },
    ...(run.usage && { usage: run.usage }),
    ...(error && { error }),
    ...(run['recursion_limit_reached'] === true && { isLimitReached: true }),
  };
}
