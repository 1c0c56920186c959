import { isIP } from 'node:net';
import { invalid } from '@agent-workflow/kit/errors';
import type { WebhookTarget } from '@agent-workflow/protos/webhooks';
import { refusalOf } from './addresses.ts';
import { createMayReach, type Network } from './reachable.ts';

interface WebhookBounds {
  /** The hosts that webhooks may name; `undefined`: all. */
  readonly hosts: readonly string[] | undefined;
  /** Networks beside the public internet that may be reached. */
  readonly networks: readonly Network[] | undefined;
}

/** Refuses the webhook of a run, a `WebhookTarget` as JSON. @throws Invalid */
export type RefuseWebhook = (json: string) => void;

/**
 * Refuses what is known at once never to be sent: an address that may not be reached, and a host that the operator does not allow. What a name
 * leads to is known when it is sent.
 */
export function createRefuseWebhook({ hosts, networks = [] }: WebhookBounds): RefuseWebhook {
  const mayReach = createMayReach(networks);
  return (json) => {
    const { url } = JSON.parse(json) as WebhookTarget;
    const why = refusalOf({ url }, hosts);
    if (why !== undefined) throw invalid(['webhook', 'url'], `cannot be sent to: ${why}`, 'url');
    const addresses = addressesOf(new URL(url).hostname);
    if (addresses.length > 0 && !addresses.some(mayReach))
      throw invalid(['webhook', 'url'], 'cannot be sent to: the address is not one of the public internet', 'url');
  };
}

/** The addresses that a host stands for without a look at names. */
function addressesOf(hostname: string): readonly string[] {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) !== 0) return [host];
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : [];
}
