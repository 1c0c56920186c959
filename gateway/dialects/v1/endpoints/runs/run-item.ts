import type { Log } from '@agent-workflow/kit/log';
import type { Run } from '@agent-workflow/protos/threads';
import { fromUsageJson, toUsageItem } from '@agent-workflow/protos/usage';
import { wireCodeOf } from '../../replies/errors.ts';
import { shownItems } from '../common/shown-items.ts';

/** A run as replies show it. */
export const toRunItem = (run: Run): Record<string, unknown> => ({
  run_id: run.runId,
  thread_id: run.threadId,
  agent: run.agent,
  revision: run.revision,
  status: run.status,
  created_at: new Date(run.createdAt).toISOString(),
  updated_at: new Date(run.updatedAt).toISOString(),
  resumes: run.resumes,
  ...(run.wakeAt !== undefined && { wake_at: new Date(run.wakeAt).toISOString() }),
  ...(run.usageJson === undefined ? {} : { usage: toUsageItem(fromUsageJson(run.usageJson)) }),
  ...(run.end && {
    iterations: run.end.iterations,
    recursion_limit_reached: run.end.recursionLimitReached,
    error: run.end.error && { ...run.end.error, code: wireCodeOf(run.end.error.code) },
  }),
});

/** Runs as lists show them. One that cannot be shown is left out and logged, so that the others are. */
export const toRunItems = (runs: readonly Run[], log: Pick<Log, 'error'>): readonly Record<string, unknown>[] =>
  shownItems(runs, { kind: 'run', show: toRunItem, idsOf: ({ runId, threadId }) => ({ runId, threadId }), log });
