import type { Page } from './lists.ts';

/** How a run ended. */
export type WebhookEvent = 'run.completed' | 'run.failed' | 'run.interrupted' | 'run.stopped';

export interface RunWebhook {
  readonly url: string;
  /** `whsec_` and base64; without it events are not signed. */
  readonly secret?: string;
  /** All unless given. */
  readonly events?: readonly WebhookEvent[];
}

export interface NewWebhook extends RunWebhook {
  readonly description?: string;
  /** `true` unless given. */
  readonly enabled?: boolean;
}

export type WebhookChange = Partial<Omit<NewWebhook, 'secret'>>;

/** An address to which the ends of its owner's runs are sent. */
export interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  /** Empty: all. */
  readonly events: readonly WebhookEvent[];
  readonly description: string | null;
  readonly enabled: boolean;
  /** Why the service has disabled it. */
  readonly disabled_because?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface WebhookSecret {
  readonly secret: string;
  /** Signs beside its successor until `old_secret_until`. */
  readonly old_secret?: string;
  readonly old_secret_until?: string;
}

export interface DeliveriesQuery extends Pick<Page, 'limit' | 'cursor'> {
  /** `pending` unless given. */
  readonly state?: Delivery['state'];
}

/** An event that its receiver has not taken. */
export interface Delivery {
  /** `webhook-id` of its requests. */
  readonly delivery_id: string;
  /** `null`: that of the run. */
  readonly webhook_id: string | null;
  /** Of the webhook of a run. */
  readonly url?: string;
  readonly state: 'pending' | 'dead';
  readonly event: WebhookEvent | 'webhook.test';
  readonly run_id: string | null;
  readonly thread_id: string | null;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_failure: string | null;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
}
