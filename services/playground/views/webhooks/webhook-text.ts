import type { Delivery, Webhook, WebhookEvent } from '@agent-workflow/client';

/** The events, in the order in which a form offers them. */
export const webhookEvents: readonly WebhookEvent[] = ['run.completed', 'run.failed', 'run.interrupted', 'run.stopped'];

/** What a webhook is called: what its owner wrote, else its address without the scheme. */
export const webhookTitle = ({ description, url }: Pick<Webhook, 'description' | 'url'>): string =>
  description !== null && description.trim() !== '' ? description : url.replace(/^https?:\/\//, '');

/** Which ends of runs it is sent: `every end`, `completed, failed`. */
export const eventsText = (events: readonly WebhookEvent[]): string =>
  events.length === 0 || webhookEvents.every((event) => events.includes(event))
    ? 'every end'
    : events.map((event) => event.replace('run.', '')).join(', ');

/** What a delivery says: `A run failed`, `A test`. */
export const deliveryTitle = ({ event }: Pick<Delivery, 'event'>): string =>
  event === 'webhook.test' ? 'A test' : `A run ${event.replace('run.', '')}`;

/** Why it was not taken, as far as is known: `answered 503`, `the name is not known`. */
export function deliveryWhy({ attempts, last_status: status, last_failure: failure }: Delivery): string {
  if (failure !== null) return failure;
  if (status !== null) return `answered ${String(status)}`;
  return attempts === 0 ? 'not tried yet' : 'no answer';
}
