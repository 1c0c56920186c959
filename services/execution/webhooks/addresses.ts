import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { readPushes, type PushConfig } from '@agent-workflow/protos/task-pushes';
import { readWebhook, type Delivery, type Webhook, type WebhookTarget } from '@agent-workflow/protos/webhooks';
import type { ListWebhooks } from './owner-webhooks.ts';

/** Where a delivery goes now, and the secrets that sign it. */
export interface Address {
  readonly url: string;
  readonly secrets: readonly string[];
  /** What is sent beside the usual headers, or in place of them. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The address that a registered webhook has now; a text: why nothing is sent there. `now` is in milliseconds since 1970. */
export function addressIn({ url, secret, oldSecret, isEnabled }: Webhook, now: number): Address | string {
  if (!isEnabled) return 'the webhook is disabled';
  return { url, secrets: [secret, ...(oldSecret && oldSecret.until > now ? [oldSecret.secret] : [])] };
}

/** The address that a run names. */
export const ownAddress = ({ url, secret }: WebhookTarget): Address => ({
  url,
  secrets: secret === undefined ? [] : [secret],
});

/** The address that a caller has given for the states of a task. */
export const pushAddress = ({ url, token, authentication }: PushConfig): Address => ({
  url,
  secrets: [],
  headers: {
    'content-type': 'application/a2a+json',
    'a2a-version': '1.0',
    ...(token !== undefined && { 'x-a2a-notification-token': token }),
    ...(authentication && { authorization: `${authentication.scheme} ${authentication.credentials ?? ''}`.trim() }),
  },
});

/** Where a delivery goes by what is on record now. `undefined`: its webhook is deleted. A text: why nothing is sent there. */
export type ReadAddress = (
  of: { readonly owner: string; readonly delivery: Delivery },
  at: { readonly now: number; readonly call: Call },
) => Promise<Address | string | undefined>;

/** Deliveries of one owner that are looked at in the same moment share one read of the owner's webhooks. */
export const createReadAddress =
  (threads: Pick<ResourceCalls, 'getResource'>, listWebhooks: ListWebhooks): ReadAddress =>
  async ({ owner, delivery: { own, push, webhookId } }, { now, call }) => {
    if (own) return ownAddress(own);
    if (push) {
      const found = await undefinedIfNotFound(threads.getResource({ kind: 'push', owner, id: push.taskId }, call));
      const config = found && readPushes(found.json).configs.find(({ id }) => id === push.configId);
      return config && pushAddress(config);
    }
    if (webhookId === undefined) return undefined;
    const listed = (await listWebhooks(owner, anyFresh, call)).find(({ id }) => id === webhookId);
    if (listed) return addressIn(listed, now);
    // It is deleted, or one of more than are listed, or cannot be read.
    const found = await undefinedIfNotFound(threads.getResource({ kind: 'webhook', owner, id: webhookId }, call));
    return found && addressOf(found.json, now);
  };

function addressOf(json: Uint8Array, now: number): Address | string {
  try {
    return addressIn(readWebhook(json), now);
  } catch {
    return 'the webhook cannot be read';
  }
}

/** Any list that still counts will do, however early it was begun to be read. */
const anyFresh = 0;

/** Why nothing is sent to this address: it says so itself, or the operator does not allow its host. `undefined` where something may be. */
export function refusalOf(
  address: Pick<Address, 'url'> | string,
  allowed: readonly string[] | undefined,
): string | undefined {
  if (typeof address === 'string') return address;
  if (!URL.canParse(address.url)) return 'the address is none';
  const { hostname } = new URL(address.url);
  const fits = (name: string): boolean =>
    name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name;
  return !allowed || allowed.some(fits) ? undefined : 'the host is not one of those that the operator allows';
}
