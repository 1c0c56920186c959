import type { Log } from '@agent-workflow/kit/log';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { openDueSweep, type SweptResource } from '@agent-workflow/runtime/due-sweep';
import { isOver, noteOf, removeOver, settleNote, type ItemParts } from './items/index.ts';

interface ItemSweepOptions extends Pick<ItemParts, 'memory'> {
  readonly threads: ItemParts['threads'] & Pick<ResourceCalls, 'listDueResources'>;
  readonly log: Log;
}

/** How long the handling of one object may take, and the time between two sweeps, in milliseconds. */
const handleMs = 30_000;
const intervalMs = 5000;

/**
 * Removes items whose time to live is over, and makes the memories of items as these say where a request ended before it had done so. Every gateway
 * does it: what two do at once is done once.
 */
export function openItemSweep({ threads, memory, log }: ItemSweepOptions): AsyncDisposable {
  const parts = { threads, memory, log };
  const opened = new AsyncDisposableStack();
  const sweep = { threads, handleMs, intervalMs, log };
  opened.use(
    openDueSweep({
      ...sweep,
      kind: 'item',
      handle: async (resource, { call, now }) => {
        if (isOver(resource, now())) await removeOver(parts, asItem(resource), now(), call);
      },
    }),
  );
  opened.use(
    openDueSweep({
      ...sweep,
      kind: 'item_memory',
      handle: (note, { call }) => settleNote(parts, note, noteOf(note), call),
    }),
  );
  return opened;
}

const asItem = (resource: SweptResource) => ({ ...resource, kind: 'item', updatedAt: resource.createdAt }) as const;
