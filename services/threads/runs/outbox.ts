import { idFrom } from '@agent-workflow/kit/ids';
import { toWebhookJson, type OutboxEntry } from '@agent-workflow/protos/webhooks';
import type { Change, Decision, Snapshot } from '../ports/changes.ts';
import type { RunRecord } from '../ports/record.ts';
import type { ResourceWrite } from '../ports/resources.ts';

/** Whether the ends of an owner's runs may be awaited by a webhook of that owner. */
export type HasWebhooks = (owner: string) => boolean;

/**
 * The decision with an outbox entry for each run that it ends and whose end somebody waits for, and for a question that it drops: in the same change,
 * whatever it is that does so. The end of a run whose thread is being deleted is published to nobody.
 */
export function withOutbox<T>(
  decision: Decision<T>,
  { owner, snapshot, hasWebhooks }: { owner: string; snapshot: Snapshot; hasWebhooks: HasWebhooks },
): Decision<T> {
  const { change } = decision;
  if (!change || change.head.deleting) return decision;
  let resources: ResourceWrite[] | undefined;
  for (const run of change.runs ?? []) {
    if (run.end === undefined || (run.webhook === undefined && !hasWebhooks(owner))) continue;
    if (snapshot.runs.get(run.runId)?.end === undefined) (resources ??= []).push(entryOf(owner, run));
  }
  const dropped = droppedBy(change, snapshot);
  if (dropped && hasWebhooks(owner)) (resources ??= []).push(droppedEntry(owner, dropped, change.head.updatedAt));
  if (!resources) return decision;
  return { ...decision, change: { ...change, resources: [...(change.resources ?? []), ...resources] } };
}

/** The run whose questions the thread does not wait with any more, although no run answers them. */
function droppedBy(
  { head, runs = [], answered }: Change,
  { head: before, runs: known }: Snapshot,
): RunRecord | undefined {
  const runId = before?.interruptedRun;
  if (runId === undefined || head.interruptedRun === runId) return undefined;
  const asking = known.get(runId);
  const isAnswered = [...runs, ...(answered ? [answered] : [])].some(
    (run) => run.runId === runId && run.resumedBy !== undefined,
  );
  return asking && asking.resumedBy === undefined && !isAnswered ? asking : undefined;
}

function droppedEntry(owner: string, { runId, threadId }: RunRecord, at: number): ResourceWrite {
  const id = idFrom(runId, 'dropped');
  return {
    ...{ kind: 'outbox', owner, id, version: 1, at, dueAt: at },
    attempt: idFrom(id, 'outbox'),
    json: toWebhookJson({ threadId, dropped: { runId, at } }),
  };
}

/** The same for every attempt at the change. */
const entryOf = (owner: string, { runId, threadId, webhook, updatedAt }: RunRecord): ResourceWrite => ({
  ...{ kind: 'outbox', owner, id: runId, version: 1, at: updatedAt, dueAt: updatedAt },
  attempt: idFrom(runId, 'outbox'),
  json: toWebhookJson({
    threadId,
    ...(webhook !== undefined && { webhook: JSON.parse(webhook) as NonNullable<OutboxEntry['webhook']> }),
  }),
});
