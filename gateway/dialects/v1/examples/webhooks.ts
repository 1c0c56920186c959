import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const params = { webhook_id: exampleIds.webhook };
const ofDelivery = { delivery_id: exampleIds.delivery };
const url = 'https://example.com/hooks/runs';

const webhook = {
  webhook_id: exampleIds.webhook,
  url,
  events: ['run.completed', 'run.failed'],
  description: 'Orders',
  enabled: true,
  created_at: '2026-01-01T12:00:00.000Z',
  updated_at: '2026-01-01T12:00:00.000Z',
};

export const createWebhook: Example = {
  body: { url, events: ['run.completed', 'run.failed'], description: 'Orders' },
  reply: webhook,
};
export const listWebhooks: Example = { reply: { webhooks: [webhook] } };
export const getWebhook: Example = { params, reply: webhook };
export const updateWebhook: Example = { params, body: { enabled: false }, reply: { ...webhook, enabled: false } };
export const deleteWebhook: Example = { params, reply: { success: true } };
export const getWebhookSecret: Example = {
  params,
  reply: { secret: 'whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=' },
};
export const rotateWebhookSecret: Example = { params, reply: webhook };
export const testWebhook: Example = { params, reply: { delivery_id: exampleIds.delivery } };
export const listDeliveries: Example = {
  reply: {
    deliveries: [
      {
        delivery_id: exampleIds.delivery,
        webhook_id: exampleIds.webhook,
        state: 'pending',
        event: 'webhook.test',
        run_id: null,
        thread_id: null,
        attempts: 0,
        last_status: null,
        last_failure: null,
        next_attempt_at: '2026-01-01T12:00:00.000Z',
        created_at: '2026-01-01T12:00:00.000Z',
      },
    ],
    has_more: false,
  },
};
export const resendDelivery: Example = { params: ofDelivery, reply: { delivery_id: exampleIds.delivery } };
export const deleteDelivery: Example = { params: ofDelivery, reply: { success: true } };
