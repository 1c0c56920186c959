import type { Signal } from '@preact/signals';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import type { ListedEvent } from './log/run-log.ts';

interface EventPaneProps {
  /** The events that are listed, among which the selected one may not be any more. */
  readonly items: readonly ListedEvent[];
  readonly selected: Signal<ListedEvent | undefined>;
}

/** The JSON of the event that is selected, and the ways to its neighbours. */
export function EventPane({ items, selected }: EventPaneProps) {
  const item = selected.value;
  if (!item) return null;
  const at = indexOf(items, item.seq);
  const show = (index: number): void => {
    selected.value = items[index] ?? item;
  };
  return (
    <aside class="event-pane" aria-label="Selected event">
      <div class="bar">
        <h2>Event {item.seq}</h2>
        <div class="bar-actions">
          <button type="button" disabled={at <= 0} onClick={() => show(at - 1)}>
            Previous
          </button>
          <button type="button" disabled={at < 0 || at + 1 >= items.length} onClick={() => show(at + 1)}>
            Next
          </button>
          <button
            type="button"
            onClick={() => {
              selected.value = undefined;
            }}
          >
            Close
          </button>
        </div>
      </div>
      <RawOnFault raw={item.event}>
        <JsonTree label={`JSON of event ${String(item.seq)}`} value={item.event} />
      </RawOnFault>
    </aside>
  );
}

/** The place of an event by its number: the list is in the order of their numbers. */
function indexOf(items: readonly ListedEvent[], seq: number): number {
  let [low, high] = [0, items.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = items[middle]?.seq ?? 0;
    if (found === seq) return middle;
    if (found < seq) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
