import type { Log } from '@agent-workflow/kit/log';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { openDueSweep, type HandleDue } from '@agent-workflow/runtime/due-sweep';
import type { ResultParts } from '../events/publish-end.ts';
import { createReadAddress } from './addresses.ts';
import { createDeliverer, type OnDelivery } from './deliver.ts';
import { createOutboxHandler } from './outbox.ts';
import { createListWebhooks } from './owner-webhooks.ts';
import { createMayReach, type Network } from './reachable.ts';
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
  const handle = createOutboxHandler({ ...parts, listWebhooks, deliverer });
  const sweep = { threads, log, handleMs };
  opened.use(openDueSweep({ ...sweep, kind: 'delivery', handle: deliverer.handle, onSwept, isSpread: true }));
  opened.use(openDueSweep({ ...sweep, kind: 'outbox', handle, isSpread: true }));
  opened.use(openDueSweep({ ...sweep, kind: 'dead_letter', handle: createRemoval(threads), intervalMs: removalMs }));
  return opened;
}

/** Removes a dead letter whose time is over. */
export const createRemoval =
  (threads: Pick<ResourceCalls, 'deleteResource'>): HandleDue =>
  async ({ owner, id, version }, { call }) => {
    await threads.deleteResource({ kind: 'dead_letter', owner, id, version }, call);
  };
