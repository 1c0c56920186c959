import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { readWebhook, webhookBounds, type Webhook } from '@agent-workflow/protos/webhooks';
import { LRUCache } from 'lru-cache';

interface Named extends Webhook {
  readonly id: string;
}

/** The webhooks of an owner. What was read since `after`, by `performance.now()`, is read again only when it is older than a tenth of a second. */
type ListWebhooks = (owner: string, after: number, call: Call) => Promise<readonly Named[]>;

/** For how long a list is used that was begun to be read so long ago, in milliseconds, and of how many owners. */
const freshMs = 100;
const owners = 1000;

interface Read {
  readonly began: number;
  readonly webhooks: Promise<readonly Named[]>;
}

/** Many runs of one owner that end in the same moment share one read. */
export function createListWebhooks(threads: Pick<ResourceCalls, 'listResources'>): ListWebhooks {
  const reads = new LRUCache<string, Read>({ max: owners });

  const read = async (owner: string, call: Call): Promise<readonly Named[]> => {
    const { resources } = await threads.listResources({ kind: 'webhook', owner, limit: webhookBounds.webhooks }, call);
    return resources.map(({ id, json }) => ({ ...readWebhook(json), id }));
  };

  return async (owner, after, call) => {
    const began = performance.now();
    const known = reads.get(owner);
    if (known && known.began >= after && began - known.began < freshMs) return known.webhooks;
    const webhooks = read(owner, call);
    reads.set(owner, { began, webhooks });
    // A failure is that of all who wait for it, and of nobody after.
    webhooks.catch(() => {
      if (reads.peek(owner)?.webhooks === webhooks) reads.delete(owner);
    });
    return webhooks;
  };
}
