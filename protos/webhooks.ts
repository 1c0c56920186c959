// The JSON of what webhooks are kept as. The gateway writes webhooks, the record the outbox, the execution service deliveries; each reads the others'.

/** The events that a webhook may be sent: how a run ended. */
export const webhookEvents = ['run.completed', 'run.failed', 'run.interrupted', 'run.stopped'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** Where one run's end is delivered to, as its request says. */
export interface WebhookTarget {
  readonly url: string;
  /** Signs what is delivered: `whsec_` and base64. Absent: it is not signed. */
  readonly secret?: string;
  /** Absent: all. */
  readonly events?: readonly WebhookEvent[];
}

/** A secret that was replaced, and until when it still signs beside its successor, in milliseconds since 1970. */
interface OldSecret {
  readonly secret: string;
  readonly until: number;
}

/** A webhook that an owner has registered: an object of the kind `webhook`. */
export interface Webhook {
  readonly url: string;
  readonly secret: string;
  readonly oldSecret?: OldSecret;
  /** The request that replaced the secret last. */
  readonly rotation?: string;
  /** Empty: all. */
  readonly events: readonly WebhookEvent[];
  readonly description?: string;
  readonly isEnabled: boolean;
  /** Why the service has disabled it. */
  readonly disabledBecause?: string;
}

/** Says that a run has ended, or what it asks was dropped, from the write that did so on: an object of the kind `outbox`, whose id is that of the run. For what was dropped the id is derived from that. */
export interface OutboxEntry {
  readonly threadId: string;
  readonly webhook?: WebhookTarget;
  /** Of a question that is not waited for any more: the run that has asked it, and since when. Nothing is sent but to the addresses of its task. */
  readonly dropped?: { readonly runId: string; readonly at: number };
  /** What is sent and to whom, once that is settled: it stays the same whatever becomes of the thread. */
  readonly settled?: SettledEvent;
}

export interface SettledEvent {
  readonly event: WebhookEvent;
  readonly at: number;
  readonly targets: readonly DeliveryTarget[];
  /** The JSON text that is sent. */
  readonly body: string;
  /** The same for the addresses of a task. */
  readonly pushBody?: string;
}

export interface DeliveryTarget {
  /** The id of the delivery: `webhook-id` of each attempt. */
  readonly id: string;
  /** The webhook of the owner. Absent: that of the run. */
  readonly webhookId?: string;
  /** That of the run. */
  readonly own?: WebhookTarget;
  /** One of a task of A2A. */
  readonly push?: PushTarget;
}

/** Where the states of a task are sent: one of the addresses in the object of the kind `push` that has the id of the task. */
interface PushTarget {
  readonly taskId: string;
  readonly configId: string;
}

/** One event on its way to one address: an object of the kind `delivery`, and of the kind `dead_letter` once it is given up. */
export interface Delivery extends Omit<DeliveryTarget, 'id'> {
  readonly event: WebhookEvent | 'webhook.test';
  readonly runId?: string;
  readonly threadId?: string;
  /** When it was first due, or sent again by its owner. */
  readonly since: number;
  /** Attempts that have failed, those before it was sent again included. */
  readonly attempts: number;
  readonly last?: FailedAttempt;
  /** The JSON text that is sent. */
  readonly body: string;
}

export interface FailedAttempt {
  readonly at: number;
  /** The status of the reply, where there was one. */
  readonly status?: number;
  readonly reason: string;
}

const base64 = '[A-Za-z0-9+/]';

/** What signs webhooks: `whsec_` and 24 to 64 bytes in base64, whole to its last character, as every library of Standard Webhooks reads it. */
export const webhookSecretPattern = `^whsec_(?:(?:${base64}{4}){8,21}(?:${base64}{2}==)?|(?:${base64}{4}){8,20}${base64}{3}=)$`;
export const webhookSecretRule = 'must be "whsec_" and the base64 of 24 to 64 bytes';

/** What one owner may have (counts): webhooks, and deliveries that wait, and as many dead letters. */
export const webhookBounds = { webhooks: 20, pending: 10_000 } as const;

export const toWebhookJson = (value: Webhook | OutboxEntry | Delivery): Uint8Array =>
  Buffer.from(JSON.stringify(value));

const read = (json: Uint8Array): unknown => JSON.parse(Buffer.from(json).toString('utf8'));
/** @throws Error for what is no webhook. It holds nothing of the text, which may be a secret. */
export function readWebhook(json: Uint8Array): Webhook {
  let webhook: Partial<Webhook> | null = null;
  try {
    webhook = read(json) as Partial<Webhook> | null;
  } catch {
    // It is refused below.
  }
  const { url, secret, events } = webhook ?? {};
  if (typeof url !== 'string' || typeof secret !== 'string' || !Array.isArray(events)) throw new Error('no webhook');
  return webhook as Webhook;
}
export const readOutboxEntry = (json: Uint8Array): OutboxEntry => read(json) as OutboxEntry;
export const readDelivery = (json: Uint8Array): Delivery => read(json) as Delivery;
