import type { Log } from '@agent-workflow/kit/log';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { openDueSweep, type HandleDue } from '@agent-workflow/runtime/due-sweep';
import type { ResultParts } from '../events/publish-end.ts';
import { createReadAddress } from './addresses.ts';
import { createDeliverer, type OnDelivery } from './deliver.ts';
import { createOutboxHandler } from './outbox.ts';
import { createListWebhooks } from './owner-webhooks.ts';
import { createMayReach, type Network } from './reachable.ts';
import { createReadPushes } from './push-targets.ts';
import { createRoom } from './room.ts';

interface WebhooksOptions extends ResultParts {
  readonly threads: ResultParts['threads'] & ResourceCalls;
  readonly log: Log;
  /** The hosts that webhooks may name; `undefined`: all. */
  readonly hosts: readonly string[] | undefined;
  /** Networks beside the public internet that may be reached. */
  readonly networks: readonly Network[] | undefined;
  readonly onDelivery: OnDelivery | undefined;
  /** Called with how many deliveries were due. */
  readonly onDue: ((count: number) => void) | undefined;
}

const handleMs = 30_000;
const removalMs = 60_000;

/** Makes deliveries of what the outbox holds and sends them, until disposed: attempts under way are ended, and made again by another process. */
export function openWebhooks({ hosts, networks = [], ...parts }: WebhooksOptions): AsyncDisposable {
  const { threads, log, onDelivery, onDue: onSwept } = parts;
  const opened = new AsyncDisposableStack();
  const mayReach = createMayReach(networks);
  const room = createRoom(threads, log);
  const listWebhooks = createListWebhooks(threads, log);
  const readAddress = createReadAddress(threads, listWebhooks);
  const deliverer = opened.use(createDeliverer({ threads, room, readAddress, log, mayReach, hosts, onDelivery }));
  const readPushes = createReadPushes(threads);
  const handle = createOutboxHandler({ ...parts, listWebhooks, readPushes, deliverer });
  const sweep = { threads, log, handleMs };
  opened.use(openDueSweep({ ...sweep, kind: 'delivery', handle: deliverer.handle, onSwept, isSpread: true }));
  opened.use(openDueSweep({ ...sweep, kind: 'outbox', handle, isSpread: true }));
  for (const kind of ['dead_letter', 'push'] as const)
    opened.use(openDueSweep({ ...sweep, kind, handle: createRemoval(threads, kind), intervalMs: removalMs }));
  return opened;
}

/** Removes what is kept for a time that is over. */
export const createRemoval =
  (threads: Pick<ResourceCalls, 'deleteResource'>, kind: 'dead_letter' | 'push'): HandleDue =>
  async ({ owner, id, version }, { call }) => {
    await threads.deleteResource({ kind, owner, id, version }, call);
  };
