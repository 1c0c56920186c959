import { webhookBounds, webhookEvents, webhookSecretPattern } from '@agent-workflow/protos/webhooks';
import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import {
  count,
  Cursor,
  described,
  flag,
  Id,
  limitOf,
  nullable,
  objectOf,
  text,
  time,
  withMeanings,
  words,
  type Meanings,
} from './common.ts';

const maxUrl = 2048;
const maxDescription = 1024;

const url = Type.String({
  minLength: 1,
  maxLength: maxUrl,
  description: `The address that gets the events: \`https://\` or \`http://\`, at most ${String(maxUrl)} characters, without user and password. Deliveries go to the public internet alone, unless the operator allows more`,
});

const secretText = 'What signs the events: `whsec_` and the base64 of 24 to 64 bytes';

const secret = Type.String({
  pattern: webhookSecretPattern,
  maxLength: 96,
  description: secretText,
});

const meanings: Meanings<typeof webhookEvents> = {
  'run.completed': 'a run has ended with a result',
  'run.failed': 'a run has ended with an error',
  'run.interrupted': 'a run has ended with open questions or tool calls',
  'run.stopped': 'a run was stopped by a caller or by another run',
};

const Event = Type.Unsafe<(typeof webhookEvents)[number]>({ type: 'string', enum: [...webhookEvents] });

const events = (description: string) =>
  Type.Array(Event, { maxItems: webhookEvents.length, description: withMeanings(description, meanings) });

/** Where the end of one run is sent. */
export const RunWebhook = objectOf('RunWebhook', 'Where the end of this run is told.', {
  url,
  secret: Type.Optional(described(secret, `${secretText}. Without it they are not signed`)),
  events: Type.Optional(events('The ends that are told; absent: all')),
});
export type RunWebhook = Static<typeof RunWebhook>;

const settable = {
  events: Type.Optional(events('The events that are sent; absent or empty: all')),
  description: Type.Optional(
    Type.String({ maxLength: maxDescription, description: `At most ${String(maxDescription)} characters, for people` }),
  ),
  enabled: Type.Optional(flag('Whether events are sent; what waits while it is `false` becomes dead. Default: `true`')),
};

export const CreateWebhook = objectOf('CreateWebhookRequest', 'A webhook to register.', {
  url,
  secret: Type.Optional(described(secret, `${secretText}. Absent: the service makes one`)),
  ...settable,
});

export const UpdateWebhook = objectOf('UpdateWebhookRequest', 'What changes; what is absent stays.', {
  url: Type.Optional(url),
  ...settable,
});

export const WebhookParams = Type.Object({ webhook_id: described(Id, 'The webhook') });
export const DeliveryParams = Type.Object({ delivery_id: described(Id, 'The delivery') });

export const Webhook = objectOf('Webhook', 'An address that is told how runs of its owner end.', {
  webhook_id: text('The id of the webhook'),
  url: text('The address that gets the events'),
  events: Type.Array(Event, { description: 'The events that are sent; empty: all' }),
  description: described(nullable(Type.String()), 'What it is for; `null` without one'),
  enabled: flag('Whether events are sent'),
  disabled_because: Type.Optional(text('Why the service has disabled it')),
  created_at: time('When it was registered'),
  updated_at: time('When it changed last'),
});

export const WebhookList = objectOf('WebhookList', 'The webhooks of the owner.', {
  webhooks: Type.Array(Webhook, { description: `The newest first, at most ${String(webhookBounds.webhooks)}` }),
});

export const WebhookSecret = objectOf('WebhookSecret', 'What signs the events of a webhook.', {
  secret: text('The secret'),
  old_secret: Type.Optional(text('The one before, which signs beside it for a day after it was replaced')),
  old_secret_until: Type.Optional(time('Until when the old one signs')),
});

export const SentDelivery = objectOf('SentDelivery', 'An event that is being sent.', {
  delivery_id: text('The id of the delivery, which is also `webhook-id` of its requests'),
});

const states = ['pending', 'dead'] as const;
const stateMeanings: Meanings<typeof states> = {
  pending: 'is sent, or sent again',
  dead: 'is not sent any more: it failed for three days, its webhook is disabled, or too many wait; it is kept for thirty days',
};

const Delivery = objectOf(
  'WebhookDelivery',
  'An event that its receiver has not taken. What was taken is not listed.',
  {
    delivery_id: text('The id of the delivery, which is also `webhook-id` of its requests'),
    webhook_id: described(nullable(Type.String()), 'The webhook of the owner; `null`: that of the run'),
    url: Type.Optional(text('The address, of the webhook of a run')),
    state: words(states, { description: 'Whether it is still sent', meanings: stateMeanings }),
    event: text('The kind of event'),
    run_id: described(nullable(Type.String()), 'The run; `null` for a test'),
    thread_id: described(nullable(Type.String()), 'Its thread'),
    attempts: count('Attempts that failed'),
    last_status: described(nullable(Type.Integer()), 'The HTTP status of the last reply; `null` without one'),
    last_failure: described(nullable(Type.String()), 'Why the last attempt failed; `null` before the first'),
    next_attempt_at: described(
      nullable(Type.String({ format: 'date-time' })),
      'When it is sent next; `null` for a dead one',
    ),
    created_at: time('When it was noted; of a dead one, when it was given up'),
  },
);

export const DeliveriesQuery = Type.Object({
  state: Type.Optional(
    words(states, { description: 'Which are listed; absent: those that wait', meanings: stateMeanings }),
  ),
  limit: limitOf(100),
  cursor: Type.Optional(described(Cursor, 'The `cursor` of the page before')),
});

export const DeliveryList = objectOf('WebhookDeliveryList', 'A page of deliveries.', {
  deliveries: Type.Array(Delivery, { description: 'The newest first' }),
  has_more: flag('Whether there is more: continue with `cursor`'),
  cursor: Type.Optional(described(Cursor, 'Where the next page begins; absent on the last page')),
});
