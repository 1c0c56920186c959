import type { WebhookTarget } from '@agent-workflow/protos/webhooks';
import { invalidAt, type Loc } from '../../http/fields.ts';
import type { OrderWebhook } from './run-order.ts';

/** The address of a webhook as it is kept. @throws Invalid for one that nothing can be sent to. */
export function webhookUrlOf(given: string, loc: Loc): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalidAt(loc, 'must be an address with https:// or http://', 'url');
  if (url.username !== '' || url.password !== '') throw invalidAt(loc, 'must have no user and no password', 'url');
  url.hash = '';
  return url.href;
}

/** The webhook of a run as the record keeps it. `loc` is the place of the run. @throws Invalid */
export function webhookJsonOf({ url, secret, events }: OrderWebhook, loc: Loc = ['body']): string {
  const target = {
    url: webhookUrlOf(url, [...loc, 'webhook', 'url']),
    ...(secret !== undefined && { secret }),
    ...(events && events.length > 0 && { events: events as NonNullable<WebhookTarget['events']> }),
  } satisfies WebhookTarget;
  return JSON.stringify(target);
}
