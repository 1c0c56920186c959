import { request, type Connection, type RequestOptions } from './request.ts';
import type { Paged } from './shapes/lists.ts';
import type { NewTrigger, Trigger, TriggerChange, TriggerWithSecret } from './shapes/triggers.ts';

export function triggersOf(connection: Connection) {
  const at = (triggerId: string, rest = '') => ({ path: `/v1/triggers/{triggerId}${rest}`, ids: { triggerId } });
  return {
    /** Makes an address whose signed events start runs. The secret is in this reply alone. */
    create: (body: NewTrigger, options: RequestOptions = {}): Promise<TriggerWithSecret> =>
      request(connection, { method: 'POST', path: '/v1/triggers', body, ...options }),
    list: (
      query: { readonly limit?: number; readonly cursor?: string } = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly triggers: readonly Trigger[] }> =>
      request(connection, { method: 'GET', path: '/v1/triggers', query, ...options }),
    get: (triggerId: string, options: RequestOptions = {}): Promise<Trigger> =>
      request(connection, { method: 'GET', ...at(triggerId), ...options }),
    update: (triggerId: string, body: TriggerChange, options: RequestOptions = {}): Promise<Trigger> =>
      request(connection, { method: 'PATCH', ...at(triggerId), body, ...options }),
    /** Gives it a new secret, which is in this reply alone; the one before counts for a day unless `overlap_seconds` is given. */
    rotate: (
      triggerId: string,
      body: { readonly secret?: string; readonly overlap_seconds?: number } = {},
      options: RequestOptions = {},
    ): Promise<TriggerWithSecret> =>
      request(connection, { method: 'POST', ...at(triggerId, '/secret'), body, ...options }),
    delete: (triggerId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(triggerId), ...options }),
  };
}
