import type { Log } from '@agent-workflow/kit/log';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
import { readWebhook, type Webhook } from '@agent-workflow/protos/webhooks';
import { LRUCache } from 'lru-cache';

interface Named extends Webhook {
  readonly id: string;
}

/** The webhooks of an owner. What was read since `after`, by `performance.now()`, is read again only when it is older than a tenth of a second. */
export type ListWebhooks = (owner: string, after: number, call: Call) => Promise<readonly Named[]>;

/** For how long a list is used that was begun to be read so long ago, in milliseconds, and of how many owners. */
const freshMs = 100;
const owners = 1000;
/** How many are read: more than an owner may have, because requests at the same moment may make some more (a count). */
const mostRead = 100;
/** One that cannot be read is named in the log once in so many milliseconds, of so many (a count). */
const reported = { ttl: 60_000, max: 1000 } as const;

interface Read {
  readonly began: number;
  readonly webhooks: Promise<readonly Named[]>;
}

/** Many runs of one owner that end in the same moment share one read. A webhook that cannot be read is left out and named in the log. */
export function createListWebhooks(
  threads: Pick<ResourceCalls, 'listResources'>,
  log: Pick<Log, 'error'>,
): ListWebhooks {
  const reads = new LRUCache<string, Read>({ max: owners });
  const named = new LRUCache<string, true>(reported);

  const report = (err: unknown, owner: string, id: string): void => {
    const name = JSON.stringify([owner, id]);
    if (!named.has(name)) log.error({ err, owner, webhook_id: id }, 'a webhook cannot be read: it is sent nothing');
    named.set(name, true, { noUpdateTTL: true });
  };

  const readOne = ({ owner, id, json }: Resource): readonly Named[] => {
    try {
      return [{ ...readWebhook(json), id }];
    } catch (error) {
      report(error, owner, id);
      return [];
    }
  };

  const read = async (owner: string, call: Call): Promise<readonly Named[]> => {
    const { resources } = await threads.listResources({ kind: 'webhook', owner, limit: mostRead }, call);
    return resources.flatMap(readOne);
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
