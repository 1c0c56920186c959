import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { within, type Call } from '@agent-workflow/protos/call';
import type { ResourceCalls, Run } from '@agent-workflow/protos/threads';
import {
  readOutboxEntry,
  toWebhookJson,
  type DeliveryTarget,
  type OutboxEntry,
  type SettledEvent,
  type WebhookEvent,
} from '@agent-workflow/protos/webhooks';
import type { HandleDue, SweptResource } from '@agent-workflow/runtime/due-sweep';
import { resultOf, type ResultParts } from '../events/publish-end.ts';
import { addressIn, ownAddress, type Address } from './addresses.ts';
import type { Deliverer, NewDelivery } from './deliver.ts';
import { bodyOf, eventOf } from './event-body.ts';
import type { ReadPushes } from './push-targets.ts';
import type { ListWebhooks } from './owner-webhooks.ts';
import { createTogether } from './together.ts';

interface OutboxOptions extends ResultParts {
  readonly threads: ResultParts['threads'] & ResourceCalls;
  readonly listWebhooks: ListWebhooks;
  readonly readPushes: ReadPushes;
  readonly deliverer: Pick<Deliverer, 'begin' | 'keep'>;
}

/** An entry whose run goes on: the write that was to end the run did not come about. Another may follow, so it is looked at again. */
const openRun = { firstMs: 1000, maxMs: 60_000 };

/**
 * A replica that settled an entry has so long for the first attempts, in milliseconds: they wait for a place for a while, are made, and what became
 * of them is written. Then another puts all of them on record.
 */
const settledForMs = 60_000;

type Handling = Parameters<HandleDue>[1];

/** A delivery of an event, and where it goes now. */
interface Target extends DeliveryTarget {
  readonly address: Address | string;
}

/** What is made of the end of a run. */
interface Settled {
  readonly event: SettledEvent;
  readonly targets: readonly Target[];
}

/**
 * Sends what an entry of the outbox says. What is sent and to whom is first written into the entry: so a replica that takes over makes the same
 * deliveries with the same bytes. The replica that wrote it makes the first attempts while the entry is its own; only what is not taken becomes a
 * delivery on record. The entry of a run that is gone is dropped: its thread was deleted.
 */
export function createOutboxHandler(options: OutboxOptions): HandleDue {
  const { threads, listWebhooks, readPushes, deliverer } = options;
  const together = createTogether(dropping);

  const targetsOf = async ({ webhook, dropped }: OutboxEntry, event: WebhookEvent, run: Run, handling: Handling) => {
    const { owner } = run;
    const { call, now, listedAt } = handling;
    const isWanted = webhook && (webhook.events?.includes(event) ?? true);
    const targets: Target[] = isWanted ? [{ id: newId(), own: webhook, address: ownAddress(webhook) }] : [];
    for (const each of dropped ? [] : await listWebhooks(owner, listedAt, call))
      if (each.isEnabled && (each.events.length === 0 || each.events.includes(event)))
        targets.push({ id: newId(), webhookId: each.id, address: addressIn(each, now()) });
    const pushed = await readPushes(run, listedAt, call);
    for (const each of pushed?.targets ?? []) targets.push({ id: newId(), ...each });
    return { targets, pushBody: pushed?.body };
  };

  const settle = async (entry: OutboxEntry, run: Run, handling: Handling): Promise<Settled> => {
    const event = eventOf(run);
    const { targets, pushBody } = event ? await targetsOf(entry, event, run, handling) : { targets: [] };
    const body =
      event && targets.some(({ push }) => push === undefined) ? bodyOf(event, run, await resultOf(options, run)) : '';
    const named = targets.map(({ address: _, ...target }) => target);
    return {
      event: {
        event: event ?? 'run.stopped',
        at: run.updatedAt,
        targets: named,
        body,
        ...(pushBody !== undefined && { pushBody }),
      },
      targets,
    };
  };

  const drop = async ({ owner, id, version }: Omit<SweptResource, 'kind'>, call: Call): Promise<void> => {
    await threads.deleteResource({ kind: 'outbox', owner, id, version }, call);
  };

  const dropLater = async (entry: SweptResource): Promise<void> =>
    together.later(async () => drop(entry, within(callTimeoutMs)));

  /** Writes into the entry what is sent, and sends it. @throws Conflict where another replica has done so. */
  const send = async (found: SweptResource, entry: OutboxEntry, run: Run, handling: Handling): Promise<void> => {
    const { owner, id } = found;
    const { call, now } = handling;
    const { event: settled, targets } = await settle(entry, run, handling);
    if (targets.length === 0) return drop(found, call);
    const written = { ...found, version: found.version + 1 };
    const json = toWebhookJson({ ...entry, settled });
    const dueAt = now() + settledForMs;
    together.now();
    await threads.putResource({ kind: 'outbox', owner, id, version: written.version, json, dueAt }, call);
    const begun = targets.map(({ address, ...target }) => ({
      ...deliveryOf(found, entry, settled, target, now()),
      address,
    }));
    await deliverer.begin(begun, () => dropLater(written), handling);
  };

  /** Puts on record what a replica had settled that has not come to the end of it. */
  const takeOver = async (found: SweptResource, entry: OutboxEntry, settled: SettledEvent, handling: Handling) => {
    const since = handling.now();
    for (const target of settled.targets)
      await deliverer.keep(deliveryOf(found, entry, settled, target, since), handling);
    await drop(found, handling.call);
  };

  return async (found, handling) => {
    const { call, now } = handling;
    const { owner, id, version, json } = found;
    const entry = readOutboxEntry(json);
    if (entry.settled) return takeOver(found, entry, entry.settled, handling);
    const { dropped } = entry;
    const run = await undefinedIfNotFound(threads.getRun({ owner, runId: dropped?.runId ?? id }, call));
    if (!run) return drop(found, call);
    if (run.end) return send(found, entry, dropped ? withDropped(run, dropped.at) : run, handling);
    const dueAt = now() + Math.min(openRun.maxMs, openRun.firstMs * version);
    await threads.putResource({ kind: 'outbox', owner, id, version: version + 1, json, dueAt }, call);
  };
}

/** A run whose question was dropped, as its task stands since. */
const withDropped = ({ end: _, ...run }: Run, at: number): Run => ({ ...run, status: 'stopped', updatedAt: at });

const callTimeoutMs = 15_000;
/** Entries whose ends are sent go with the next one that is settled, or after some milliseconds. A process that dies before sends them again. */
const dropping = { ms: 100, most: 64 };

function deliveryOf(
  { owner, id }: SweptResource,
  { threadId, dropped }: OutboxEntry,
  { event, body, pushBody = body }: SettledEvent,
  { id: deliveryId, ...target }: DeliveryTarget,
  since: number,
): NewDelivery {
  const runId = dropped?.runId ?? id;
  return {
    owner,
    id: deliveryId,
    delivery: { ...target, event, runId, threadId, since, attempts: 0, body: target.push ? pushBody : body },
  };
}
