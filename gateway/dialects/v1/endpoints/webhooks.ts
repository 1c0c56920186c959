import { randomBytes } from 'node:crypto';
import { conflict, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
import {
  readDelivery,
  readWebhook,
  toWebhookJson,
  webhookBounds,
  type Delivery,
  type Webhook,
} from '@agent-workflow/protos/webhooks';
import { changeInTurn } from '../../../upstream/change-in-turn.ts';
import { webhookUrlOf } from '../../common/run-webhook.ts';
import * as examples from '../examples/webhooks.ts';
import { Done, maxLimit } from '../schemas/common.ts';
import {
  CreateWebhook,
  DeliveriesQuery,
  DeliveryList,
  DeliveryParams,
  SentDelivery,
  UpdateWebhook,
  Webhook as WebhookReply,
  WebhookList,
  WebhookParams,
  WebhookSecret,
} from '../schemas/webhooks.ts';
import { endpoint } from './common/endpoint.ts';
import { shownItems } from '../../common/shown-items.ts';

const secretBytes = 32;
/** How long a secret signs beside its successor, in milliseconds. */
const oldSecretMs = 24 * 3_600_000;

const newSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`;

const isoOf = (at: number): string => new Date(at).toISOString();

function webhookItem({ id, json, createdAt, updatedAt }: Omit<Resource, 'kind' | 'owner' | 'version'>): object {
  const { url, events, description = null, isEnabled, disabledBecause } = readWebhook(json);
  return {
    ...{ webhook_id: id, url, events, description, enabled: isEnabled },
    ...(disabledBecause !== undefined && { disabled_because: disabledBecause }),
    ...{ created_at: isoOf(createdAt), updated_at: isoOf(updatedAt) },
  };
}

function deliveryItem({ kind, id, json, dueAt, createdAt }: Resource): object {
  const state = kind === 'dead_letter' ? 'dead' : 'pending';
  const { webhookId = null, own, event, runId = null, threadId = null, attempts, last } = readDelivery(json);
  return {
    ...{ delivery_id: id, webhook_id: webhookId, ...(own && { url: own.url }), state, event },
    ...{ run_id: runId, thread_id: threadId, attempts },
    ...{ last_status: last?.status ?? null, last_failure: last?.reason ?? null },
    next_attempt_at: state === 'dead' || dueAt === undefined ? null : isoOf(dueAt),
    created_at: isoOf(createdAt),
  };
}

/** Writes the next version of an object, from the present one. */
const changeResource = (
  threads: ResourceCalls,
  key: Pick<Resource, 'kind' | 'owner' | 'id'>,
  change: (found: Resource) => Pick<Resource, 'json' | 'dueAt'>,
  call: () => Call,
): Promise<Resource> =>
  changeInTurn(key, async () => {
    const found = await threads.getResource(key, call());
    const { json, dueAt } = change(found);
    const version = found.version + 1;
    try {
      const due = dueAt === undefined ? {} : { dueAt };
      const { at } = await threads.putResource({ ...key, version, json, ...due }, call());
      return { ...found, version, json, updatedAt: at };
    } catch (error) {
      if (isServiceError(error, 'Conflict')) return undefined;
      throw error;
    }
  });

const ofWebhook = (owner: string, id: string) => ({ kind: 'webhook', owner, id }) as const;

const changeWebhook = (
  threads: ResourceCalls,
  key: ReturnType<typeof ofWebhook>,
  change: (webhook: Webhook) => Webhook,
  call: () => Call,
): Promise<Resource> =>
  changeResource(threads, key, ({ json }) => ({ json: toWebhookJson(change(readWebhook(json))) }), call);

export const createWebhook = endpoint({
  name: 'createWebhook',
  tag: 'webhooks',
  summary: 'Register a webhook',
  description: `Registers an address that is told how runs of the owner end, from the reply on. An owner has at most ${String(webhookBounds.webhooks)}: one more is 409. The first one of an owner may take some seconds.`,
  example: examples.createWebhook,
  method: 'POST',
  path: '/v1/webhooks',
  access: { resource: 'webhooks', action: 'write' },
  input: CreateWebhook,
  reply: WebhookReply,
  handle: async ({ owner, input, newId, isRepeated, call }, { threads }) => {
    const key = ofWebhook(owner, newId('webhook'));
    if (isRepeated) return JSON.stringify(webhookItem(await threads.getResource(key, call())));
    const { url, secret = newSecret(), events = [], description, enabled = true } = input;
    const json = toWebhookJson({
      ...{ url: webhookUrlOf(url, ['body', 'url']), secret, events, isEnabled: enabled },
      ...(description !== undefined && { description }),
    });
    const { webhooks: most } = webhookBounds;
    const { count } = await threads.countResources({ kind: 'webhook', owner, atMost: most }, call());
    if (count >= most) throw conflict(`there are ${String(most)} webhooks already, which is the limit`);
    const { at } = await threads.putResource({ ...key, version: 1, json }, call());
    return JSON.stringify(webhookItem({ id: key.id, json, createdAt: at, updatedAt: at }));
  },
});

export const listWebhooks = endpoint({
  name: 'listWebhooks',
  tag: 'webhooks',
  summary: 'List the webhooks',
  description: 'The webhooks of the owner, the newest first.',
  example: examples.listWebhooks,
  method: 'GET',
  path: '/v1/webhooks',
  access: { resource: 'webhooks', action: 'read' },
  reply: WebhookList,
  handle: async ({ owner, call }, { threads, log }) => {
    const page = { kind: 'webhook', owner, limit: maxLimit } as const;
    const { resources } = await threads.listResources(page, call());
    const idsOf = ({ id }: Resource) => ({ webhookId: id });
    return JSON.stringify({ webhooks: shownItems(resources, { kind: 'webhook', show: webhookItem, idsOf, log }) });
  },
});

export const getWebhook = endpoint({
  name: 'getWebhook',
  tag: 'webhooks',
  summary: 'Get a webhook',
  description: 'A webhook without its secret.',
  example: examples.getWebhook,
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}',
  access: { resource: 'webhooks', action: 'read' },
  params: WebhookParams,
  reply: WebhookReply,
  handle: async ({ owner, params, call }, { threads }) =>
    JSON.stringify(webhookItem(await threads.getResource(ofWebhook(owner, params.webhook_id), call()))),
});

export const updateWebhook = endpoint({
  name: 'updateWebhook',
  tag: 'webhooks',
  summary: 'Change a webhook',
  description: 'Changes what is given. Deliveries that wait go to the new address.',
  example: examples.updateWebhook,
  method: 'PATCH',
  path: '/v1/webhooks/{webhook_id}',
  access: { resource: 'webhooks', action: 'write' },
  params: WebhookParams,
  input: UpdateWebhook,
  reply: WebhookReply,
  handle: async ({ owner, params, input: { url: given, events, description, enabled }, call }, { threads }) => {
    const url = given === undefined ? undefined : webhookUrlOf(given, ['body', 'url']);
    const change = ({ disabledBecause, ...webhook }: Webhook): Webhook => ({
      ...webhook,
      ...(url !== undefined && { url }),
      ...(events && { events }),
      ...(description !== undefined && { description }),
      ...(enabled !== undefined && { isEnabled: enabled }),
      ...(enabled === undefined && disabledBecause !== undefined && { disabledBecause }),
    });
    const changed = await changeWebhook(threads, ofWebhook(owner, params.webhook_id), change, call);
    return JSON.stringify(webhookItem(changed));
  },
});

export const deleteWebhook = endpoint({
  name: 'deleteWebhook',
  tag: 'webhooks',
  summary: 'Delete a webhook',
  description: 'Deletes a webhook. What waits for it is not sent any more.',
  example: examples.deleteWebhook,
  method: 'DELETE',
  path: '/v1/webhooks/{webhook_id}',
  access: { resource: 'webhooks', action: 'delete' },
  params: WebhookParams,
  reply: Done,
  handle: async ({ owner, params, call }, { threads }) => removed(threads, ofWebhook(owner, params.webhook_id), call),
});

const removed = (
  threads: ResourceCalls,
  key: Pick<Resource, 'kind' | 'owner' | 'id'>,
  call: () => Call,
): Promise<string> =>
  changeInTurn(key, async () => {
    const { version } = await threads.getResource(key, call());
    try {
      await threads.deleteResource({ ...key, version }, call());
      return '{"success":true}';
    } catch (error) {
      if (isServiceError(error, 'Conflict')) return undefined;
      throw error;
    }
  });

export const getWebhookSecret = endpoint({
  name: 'getWebhookSecret',
  tag: 'webhooks',
  summary: 'Get the secret of a webhook',
  description: 'What signs the events of a webhook, as Standard Webhooks say.',
  example: examples.getWebhookSecret,
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}/secret',
  access: { resource: 'webhooks', action: 'write' },
  secret: true,
  params: WebhookParams,
  reply: WebhookSecret,
  handle: async ({ owner, params, call, at }, { threads }) => {
    const { json } = await threads.getResource(ofWebhook(owner, params.webhook_id), call());
    const { secret, oldSecret } = readWebhook(json);
    const isValid = oldSecret && oldSecret.until > at.getTime();
    return JSON.stringify({
      secret,
      ...(isValid && { old_secret: oldSecret.secret, old_secret_until: isoOf(oldSecret.until) }),
    });
  },
});

export const rotateWebhookSecret = endpoint({
  name: 'rotateWebhookSecret',
  tag: 'webhooks',
  summary: 'Replace the secret of a webhook',
  description: 'Makes a new secret. For a day the old one signs beside it: each request then has two signatures.',
  example: examples.rotateWebhookSecret,
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/rotate',
  access: { resource: 'webhooks', action: 'write' },
  params: WebhookParams,
  reply: WebhookReply,
  handle: async ({ owner, params, newId, call }, { threads }) => {
    const rotation = newId('rotation');
    const until = Date.now() + oldSecretMs;
    const change = (webhook: Webhook): Webhook =>
      webhook.rotation === rotation
        ? webhook
        : { ...webhook, rotation, secret: newSecret(), oldSecret: { secret: webhook.secret, until } };
    const changed = await changeWebhook(threads, ofWebhook(owner, params.webhook_id), change, call);
    return JSON.stringify(webhookItem(changed));
  },
});

export const testWebhook = endpoint({
  name: 'testWebhook',
  tag: 'webhooks',
  summary: 'Send a test to a webhook',
  description:
    'Sends an event of the kind `webhook.test`. `GET /v1/deliveries` shows what became of it until it is taken.',
  example: examples.testWebhook,
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
  access: { resource: 'webhooks', action: 'write' },
  params: WebhookParams,
  reply: SentDelivery,
  handle: async ({ owner, params: { webhook_id: webhookId }, newId, at, call }, { threads }) => {
    await threads.getResource(ofWebhook(owner, webhookId), call());
    await refuseMany(threads, owner, call);
    const id = newId('delivery');
    const event = 'webhook.test';
    const body = JSON.stringify({ type: event, timestamp: at.toISOString(), data: { webhook_id: webhookId } });
    const since = at.getTime();
    const delivery: Delivery = { webhookId, event, since, attempts: 0, body };
    const put = { kind: 'delivery', owner, id, version: 1, json: toWebhookJson(delivery), dueAt: since } as const;
    await putIfAbsent(threads, put, call);
    return JSON.stringify({ delivery_id: id });
  },
});

export const listDeliveries = endpoint({
  name: 'listDeliveries',
  tag: 'webhooks',
  summary: 'List what webhooks have not taken',
  description: 'The events of the owner that wait, or those that have failed for good, the newest first.',
  example: examples.listDeliveries,
  method: 'GET',
  path: '/v1/deliveries',
  access: { resource: 'webhooks', action: 'read' },
  input: DeliveriesQuery,
  reply: DeliveryList,
  handle: async ({ owner, input: { state, limit, cursor }, call }, { threads, log }) => {
    const after = cursor === undefined ? {} : { cursor };
    const kind = state === 'dead' ? 'dead_letter' : 'delivery';
    const page = { kind, owner, limit: Math.min(limit, maxLimit), ...after } as const;
    const { resources, cursor: next } = await threads.listResources(page, call());
    const idsOf = ({ id }: Resource) => ({ deliveryId: id });
    return JSON.stringify({
      deliveries: shownItems(resources, { kind: 'delivery', show: deliveryItem, idsOf, log }),
      has_more: next !== undefined,
      ...(next !== undefined && { cursor: next }),
    });
  },
});

export const resendDelivery = endpoint({
  name: 'resendDelivery',
  tag: 'webhooks',
  summary: 'Send an event again',
  description:
    'Sends an event that waits or is dead now, and for three days more where it fails. Its id and body stay the same.',
  example: examples.resendDelivery,
  method: 'POST',
  path: '/v1/deliveries/{delivery_id}/resend',
  access: { resource: 'webhooks', action: 'write' },
  params: DeliveryParams,
  reply: SentDelivery,
  handle: async ({ owner, params: { delivery_id: id }, at, call }, { threads }) => {
    const since = at.getTime();
    const begun = ({ json }: Resource): Pick<Resource, 'json' | 'dueAt'> => ({
      json: toWebhookJson({ ...readDelivery(json), attempts: 0, since }),
      dueAt: since,
    });
    const dead = await undefinedIfNotFound(threads.getResource({ kind: 'dead_letter', owner, id }, call()));
    if (dead) {
      await refuseMany(threads, owner, call);
      await putIfAbsent(threads, { kind: 'delivery', owner, id, version: 1, ...begun(dead) }, call);
      await threads.deleteResource({ kind: 'dead_letter', owner, id, version: dead.version }, call());
    } else await changeResource(threads, { kind: 'delivery', owner, id }, begun, call);
    return JSON.stringify({ delivery_id: id });
  },
});

/** @throws Conflict where so many wait already that the service keeps no more. */
async function refuseMany(threads: ResourceCalls, owner: string, call: () => Call): Promise<void> {
  const { pending: atMost } = webhookBounds;
  const { count } = await threads.countResources({ kind: 'delivery', owner, atMost }, call());
  if (count >= atMost) throw conflict(`there are ${String(atMost)} deliveries that wait, which is the limit`);
}

/** Puts an object that the same request may have put before. */
async function putIfAbsent(
  threads: ResourceCalls,
  put: Parameters<ResourceCalls['putResource']>[0],
  call: () => Call,
): Promise<void> {
  await threads.putResource(put, call()).catch((error: unknown) => {
    if (!isServiceError(error, 'Conflict')) throw error;
  });
}

export const deleteDelivery = endpoint({
  name: 'deleteDelivery',
  tag: 'webhooks',
  summary: 'Give an event up',
  description: 'Deletes an event that waits or is dead: it is not sent any more.',
  example: examples.deleteDelivery,
  method: 'DELETE',
  path: '/v1/deliveries/{delivery_id}',
  access: { resource: 'webhooks', action: 'delete' },
  params: DeliveryParams,
  reply: Done,
  handle: async ({ owner, params: { delivery_id: id }, call }, { threads }) => {
    const dead = await undefinedIfNotFound(threads.getResource({ kind: 'dead_letter', owner, id }, call()));
    return removed(threads, { kind: dead ? 'dead_letter' : 'delivery', owner, id }, call);
  },
});
