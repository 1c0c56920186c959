import { userIdOf } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import type { Run, Thread, ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { fromUsageJson, toUsageItem } from '@agent-workflow/protos/usage';
import { jsonObject, jsonText, textOrNull, timeText } from '../../../../http/json.ts';
import { shownItems } from '../../../common/shown-items.ts';
import { wireCodeOf } from '../../replies/errors.ts';

/** Shows the threads of an owner as JSON texts, put together as text because a list holds up to a thousand of them. */
export function threadText(owner: string): (thread: Thread) => string {
  const user = textOrNull(userIdOf(owner));
  return (thread) => {
    const { threadId, threadName = null, metadataJson, createdAt, updatedAt, runId = null, agent = null } = thread;
    const { title = null } = thread;
    return (
      `{"thread_id":${JSON.stringify(threadId)},"thread_name":${JSON.stringify(threadName)},"title":${JSON.stringify(title)},` +
      `"user_id":${user},"metadata":${metadataJson ? jsonText(metadataJson) : 'null'},` +
      `"created_at":${timeText(createdAt)},"updated_at":${timeText(updatedAt)},"run_id":${JSON.stringify(runId)},"agent":${JSON.stringify(agent)}${statusText(thread)}}`
    );
  };
}

/** What is known of a thread that was read by itself: what it waits for, and its own ttl, are left out where there is none. */
function statusText({ status, waitsFor, ttlSeconds }: Pick<Thread, 'status' | 'waitsFor' | 'ttlSeconds'>): string {
  if (status === undefined) return '';
  const waiting = waitsFor === undefined ? '' : `,"waits_for":"${waitsFor}"`;
  return `,"status":"${status}"${waiting}${ttlSeconds === undefined ? '' : `,"ttl":${String(ttlSeconds)}`}`;
}

/** A checkpoint as JSON text of a reply. */
export const checkpointText = (checkpoint: ThreadCheckpoint, threadId: string): string =>
  jsonObject({
    checkpoint_id: JSON.stringify(checkpoint.checkpointId),
    thread_id: JSON.stringify(threadId),
    source: JSON.stringify(checkpoint.source),
    run_id: textOrNull(checkpoint.runId),
    step: JSON.stringify(checkpoint.step ?? null),
    nodes: JSON.stringify(checkpoint.nodes),
    next: JSON.stringify(checkpoint.next),
    metadata: checkpoint.metadataJson ? jsonText(checkpoint.metadataJson) : 'null',
    created_at: timeText(checkpoint.createdAt),
    ...stepTexts(checkpoint),
  });

/** How a step ran; `null` for what is not known, and for every other checkpoint. */
const stepTexts = ({ source, createdAt, work }: ThreadCheckpoint): Record<string, string> => ({
  ended_at: source === 'step' ? timeText(createdAt) : 'null',
  ...workTexts(work),
});

/** The same of the work of a step alone. */
export function workTexts(work: ThreadCheckpoint['work']): Record<string, string> {
  const tokens = work && { input_tokens: work.inputTokens, output_tokens: work.outputTokens };
  return {
    started_at: work ? timeText(work.startedAt) : 'null',
    attempt: JSON.stringify(work?.attempt ?? null),
    retries: JSON.stringify(work?.retries ?? null),
    usage: JSON.stringify(tokens ?? null),
  };
}

/** A run as replies show it. */
export const toRunItem = (run: Run): Record<string, unknown> => ({
  run_id: run.runId,
  thread_id: run.threadId,
  thread_title: run.threadTitle ?? null,
  agent: run.agent,
  revision: run.revision,
  status: run.status,
  created_at: new Date(run.createdAt).toISOString(),
  updated_at: new Date(run.updatedAt).toISOString(),
  ...(run.startedAt !== undefined && { started_at: new Date(run.startedAt).toISOString() }),
  ...(run.end && { ended_at: new Date(run.updatedAt).toISOString() }),
  resumes: run.resumes,
  resumed_by: run.resumedBy,
  ...(run.answeredByJson !== undefined && { answered_by: JSON.parse(run.answeredByJson) as unknown }),
  ...(run.wakeAt !== undefined && {
    [run.status === 'interrupted' ? 'deadline' : 'wake_at']: new Date(run.wakeAt).toISOString(),
  }),
  priority: run.priority,
  ...(run.usageJson === undefined ? {} : { usage: toUsageItem(fromUsageJson(run.usageJson)) }),
  ...(run.end && {
    iterations: run.end.iterations,
    recursion_limit_reached: run.end.recursionLimitReached,
    error: run.end.error && { ...run.end.error, code: wireCodeOf(run.end.error.code) },
  }),
  ...(run.nodes.length > 0 && { nodes: run.nodes }),
  question: run.question,
});

export const toRunItems = (runs: readonly Run[], log: Pick<Log, 'error'>): readonly Record<string, unknown>[] =>
  shownItems(runs, { kind: 'run', show: toRunItem, idsOf: ({ runId, threadId }) => ({ runId, threadId }), log });
