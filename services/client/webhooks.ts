import { request, type Connection, type RequestOptions } from './request.ts';
import type { Paged } from './shapes/lists.ts';
import type {
  DeliveriesQuery,
  Delivery,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookSecret,
} from './shapes/webhooks.ts';

export function webhooksOf(connection: Connection) {
  const at = (webhookId: string, rest = '') => ({ path: `/v1/webhooks/{webhookId}${rest}`, ids: { webhookId } });
  return {
    create: (body: NewWebhook, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'POST', path: '/v1/webhooks', body, ...options }),
    list: (options: RequestOptions = {}): Promise<{ readonly webhooks: readonly Webhook[] }> =>
      request(connection, { method: 'GET', path: '/v1/webhooks', ...options }),
    get: (webhookId: string, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'GET', ...at(webhookId), ...options }),
    /** Changes what is given. */
    update: (webhookId: string, body: WebhookChange, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'PATCH', ...at(webhookId), body, ...options }),
    delete: (webhookId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(webhookId), ...options }),
    secret: (webhookId: string, options: RequestOptions = {}): Promise<WebhookSecret> =>
      request(connection, { method: 'GET', ...at(webhookId, '/secret'), ...options }),
    /** Makes a new secret; for a day the old one signs beside it. */
    rotate: (webhookId: string, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'POST', ...at(webhookId, '/rotate'), ...options }),
    /** Sends an event of the kind `webhook.test`. */
    test: (webhookId: string, options: RequestOptions = {}): Promise<{ readonly delivery_id: string }> =>
      request(connection, { method: 'POST', ...at(webhookId, '/test'), ...options }),
  };
}

export function deliveriesOf(connection: Connection) {
  const at = (deliveryId: string, rest = '') => ({ path: `/v1/deliveries/{deliveryId}${rest}`, ids: { deliveryId } });
  return {
    /** What waits, or with `state: 'dead'` what was given up, the newest first. */
    list: (
      query: DeliveriesQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly deliveries: readonly Delivery[] }> =>
      request(connection, { method: 'GET', path: '/v1/deliveries', query, ...options }),
    /** Sends it now, and for three days more where that fails. */
    resend: (deliveryId: string, options: RequestOptions = {}): Promise<{ readonly delivery_id: string }> =>
      request(connection, { method: 'POST', ...at(deliveryId, '/resend'), ...options }),
    delete: (deliveryId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(deliveryId), ...options }),
  };
}
