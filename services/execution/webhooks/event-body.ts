import { sizes } from '@agent-workflow/kit/sizes';
import { toEventError } from '@agent-workflow/protos/failures';
import type { Run } from '@agent-workflow/protos/threads';
import type { WebhookEvent } from '@agent-workflow/protos/webhooks';

/** What is said of a run that ended so; nothing of one that has not. */
export const eventOf = ({ status }: Pick<Run, 'status'>): WebhookEvent | undefined =>
  status === 'completed' || status === 'failed' || status === 'interrupted' || status === 'stopped'
    ? `run.${status}`
    : undefined;

/**
 * The text of an event, as Standard Webhooks name its parts. `result` is what invoke would have answered. What is too large leaves out first the
 * messages of `all_messages`, then the result, then the message of an error, and says so with `truncated`.
 */
export function bodyOf(event: string, run: Run, result: object | undefined): string {
  const ids = {
    run_id: run.runId,
    thread_id: run.threadId,
    agent: run.agent,
    revision: run.revision,
    request_id: run.requestId,
    status: run.status,
    created_at: new Date(run.createdAt).toISOString(),
    ended_at: new Date(run.updatedAt).toISOString(),
    resumes: run.resumes,
  };
  const error = run.end?.error && toEventError(run.end.error);
  const code = error && { code: error['code'] };
  const shorter = result && { ...result, all_messages: [], all_messages_truncated: true };
  const forms = [
    { ...ids, ...(error && { error }), ...(result && { result }) },
    { ...ids, ...(error && { error }), ...(shorter && { result: shorter }), truncated: true },
    { ...ids, ...(code && { error: code }), truncated: true },
  ];
  const timestamp = ids.ended_at;
  for (const data of forms) {
    const text = JSON.stringify({ type: event, timestamp, data });
    if (Buffer.byteLength(text) <= sizes.webhookBody) return text;
  }
  return JSON.stringify({ type: event, timestamp, data: { run_id: run.runId, truncated: true } });
}
