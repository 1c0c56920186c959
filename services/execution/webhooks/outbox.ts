import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls, Run } from '@agent-workflow/protos/threads';
import {
  readOutboxEntry,
  readWebhook,
  toWebhookJson,
  webhookBounds,
  type Delivery,
  type DeliveryTarget,
  type OutboxEntry,
  type SettledEvent,
  type WebhookEvent,
} from '@agent-workflow/protos/webhooks';
import type { HandleDue, SweptResource } from '@agent-workflow/runtime/due-sweep';
import { resultOf, type EndParts } from '../events/publish-end.ts';
import type { Deliverer } from './deliver.ts';
import { bodyOf, eventOf } from './event-body.ts';

interface OutboxOptions extends Pick<EndParts, 'known'> {
  readonly threads: EndParts['threads'] & ResourceCalls;
  readonly deliverer: Pick<Deliverer, 'take'>;
}

/** An entry whose run goes on: the write that was to end the run did not come about. Another may follow, so it is looked at again. */
const openRun = { firstMs: 1000, maxMs: 60_000 };

/**
 * Makes deliveries of an entry of the outbox. What is sent and to whom is first written into the entry: so a replica that takes over makes the same
 * deliveries with the same bytes. The entry of a run that is gone is dropped: its thread was deleted.
 */
export function createOutboxHandler(options: OutboxOptions): HandleDue {
  const { threads, deliverer } = options;

  const settle = async (resource: SweptResource, entry: OutboxEntry, run: Run, call: Call): Promise<SettledEvent> => {
    const { owner } = resource;
    const event = eventOf(run);
    const targets = event ? await targetsOf(threads, { owner, event, entry }, call) : [];
    const body = event && targets.length > 0 ? bodyOf(event, run, await resultOf(options, run)) : '';
    return { event: event ?? 'run.stopped', at: run.updatedAt, targets, body };
  };

  const deliver = async (
    { owner, id: runId }: SweptResource,
    { threadId }: OutboxEntry,
    { event, targets, body }: SettledEvent,
    { call, now }: Parameters<HandleDue>[1],
  ): Promise<void> => {
    for (const { id, ...target } of targets) {
      const delivery: Delivery = { ...target, event, runId, threadId, since: now(), attempts: 0, body };
      await deliverer.take({ owner, id, version: 0, delivery }, { call, now }).catch((error: unknown) => {
        // A replica that settled the same entry has made it.
        if (!isServiceError(error, 'Conflict')) throw error;
      });
    }
  };

  return async (resource, handling) => {
    const { call, now } = handling;
    const { owner, id } = resource;
    const kind = 'outbox';
    const entry = readOutboxEntry(resource.json);
    let { version } = resource;
    let { settled } = entry;
    if (!settled) {
      const run = await undefinedIfNotFound(threads.getRun({ owner, runId: id }, call));
      if (run && !run.end) {
        const dueAt = now() + Math.min(openRun.maxMs, openRun.firstMs * version);
        await threads.putResource({ owner, id, kind, version: version + 1, json: resource.json, dueAt }, call);
        return;
      }
      settled = run && (await settle(resource, entry, run, call));
      if (settled && settled.targets.length > 0) {
        version += 1;
        const json = toWebhookJson({ ...entry, settled });
        await threads.putResource({ owner, id, kind, version, json, dueAt: now() + handledWithinMs }, call);
      }
    }
    if (settled) await deliver(resource, entry, settled, handling);
    await threads.deleteResource({ owner, id, kind, version }, call);
  };
}

/** A replica that settled an entry has this time for its deliveries; then another makes what is missing, in milliseconds. */
const handledWithinMs = 60_000;

async function targetsOf(
  threads: ResourceCalls,
  { owner, event, entry }: { readonly owner: string; readonly event: WebhookEvent; readonly entry: OutboxEntry },
  call: Call,
): Promise<readonly DeliveryTarget[]> {
  const listed = await threads.listResources({ kind: 'webhook', owner, limit: webhookBounds.webhooks }, call);
  const own = listed.resources.filter(({ json }) => {
    const { events, isEnabled } = readWebhook(json);
    return isEnabled && (events.length === 0 || events.includes(event));
  });
  const { webhook } = entry;
  const isWanted = webhook && (webhook.events?.includes(event) ?? true);
  return [
    ...(isWanted ? [{ id: newId(), own: webhook }] : []),
    ...own.map(({ id }) => ({ id: newId(), webhookId: id })),
  ];
}
