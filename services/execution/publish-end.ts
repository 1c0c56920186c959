import { isServiceError } from '@agent-workflow/kit/errors';
import type { Run } from '@agent-workflow/protos/threads';
import { createEventWriter } from './events.ts';
import { toInvokeResult } from './outcome.ts';
import type { RunLog } from './port.ts';

/** Says how a run ended when its worker cannot: after a stop, or after the worker's death. Does nothing when it is said already. */
export async function publishEnd(log: RunLog, run: Run): Promise<void> {
  for (;;) {
    const after = await log.last(run.runId);
    const events = createEventWriter(run, after);
    const first = after === 0 ? [events.write('metadata', metadataOf(run)), events.write('on_chain_start', {})] : [];
    const last =
      run.status === 'failed'
        ? events.write('error', run.end?.error ?? unknownError)
        : events.write('on_chain_end', endOf(run));
    try {
      await log.append(run.runId, after, [...first, last]);
      return;
    } catch (error) {
      if (!isServiceError(error, 'Stale')) throw error;
      // An event of the worker came in between, perhaps the last one.
      if ((await log.last(run.runId)) === after) return;
    }
  }
}

const unknownError = { code: 'INTERNAL_ERROR', message: 'the run failed' };

const metadataOf = ({ requestId, threadId, runId, isNewThread }: Run): Record<string, unknown> => ({
  request_id: requestId,
  thread_id: threadId,
  run_id: runId,
  is_new_thread: isNewThread,
});

function endOf(run: Run): Record<string, unknown> {
  const state = { values: { context_summary: '' }, context: [] };
  const outcome = {
    status: run.status === 'completed' || run.status === 'interrupted' ? run.status : 'stopped',
    iterations: run.end?.iterations ?? 0,
    recursionLimitReached: run.end?.recursionLimitReached ?? false,
    added: [],
    state,
  } as const;
  return toInvokeResult(run, outcome, run.updatedAt);
}
