import type { EventKind } from '@agent-workflow/client';
import type { Signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { VirtualList } from '../../ui/patterns/virtual-list.tsx';
import { counted, duration, grouped } from '../../ui/format.ts';
import { noFilter, type EventFilter, type EventPlace } from './log/filtered.ts';
import type { ListedEvent, RunLog } from './log/run-log.ts';
import { summaryOf } from './log/summary.ts';

/** The kinds of event, in words. */
const kindTitles: Readonly<Record<EventKind, string>> = {
  metadata: 'metadata',
  on_chain_start: 'start',
  on_chain_stream: 'node',
  messages_chunk: 'message',
  state_chunk: 'state',
  context_chunk: 'context',
  summary_chunk: 'summary',
  on_chain_end: 'end',
  error: 'error',
  tasks: 'tasks',
  values: 'values',
};

const rowHeight = 31;

interface EventListProps {
  readonly log: RunLog;
  /** Whether it goes on: the list stays at its end. */
  readonly isGrowing: boolean;
  /** Those that pass the filter. */
  readonly items: readonly ListedEvent[];
  readonly filter: Signal<EventFilter>;
  /** Called when the events of the whole run are wanted. */
  readonly onAll: () => void;
  readonly selected: Signal<ListedEvent | undefined>;
}

/** The events of a run, those that were replayed told from those that came while the page was there. */
export function EventList({ log, isGrowing, items, filter, onAll, selected }: EventListProps) {
  const start = log.events[0]?.at ?? 0;
  const isFiltered = filter.value !== noFilter;
  // The click that opens the tab is answered by the frame before the first rows, which take longer.
  const [isPainted, setPainted] = useState(false);
  useEffect(() => setPainted(true), []);
  return (
    <>
      <EventFilters filter={filter} onAll={onAll} />
      <VirtualList
        label="Events"
        items={isPainted ? items : []}
        keyOf={({ seq }) => String(seq)}
        estimate={rowHeight}
        isEven
        followsEnd={isGrowing}
        render={(item, index) => (
          <EventRow
            item={item}
            start={start}
            isFirstLive={item.isLive && items[index - 1]?.isLive === false}
            isSelected={selected.value === item}
            onSelect={() => {
              selected.value = item;
            }}
          />
        )}
      />
      <p class="hint small">
        {isFiltered ? `${grouped(items.length)} of ` : ''}
        {counted(log.events.length, 'event')}: {grouped(log.replayed)} replayed,{' '}
        {grouped(log.events.length + log.unlisted - log.replayed)} live
      </p>
    </>
  );
}

function EventFilters({ filter, onAll }: Pick<EventListProps, 'filter' | 'onAll'>) {
  const { kind, text, place } = filter.value;
  const change = (changed: Partial<EventFilter>): void => {
    filter.value = { ...filter.value, ...changed };
  };
  return (
    <div class="run-filters">
      <label class="inline">
        Kind
        <select value={kind} onChange={(event) => change({ kind: event.currentTarget.value as EventFilter['kind'] })}>
          <option value="">all</option>
          {Object.entries(kindTitles).map(([key, title]) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label class="inline run-text">
        Text
        <input type="search" value={text} onInput={(event) => change({ text: event.currentTarget.value })} />
      </label>
      {place && (
        <button type="button" onClick={onAll}>
          Only {placeText(place)}: show all
        </button>
      )}
    </div>
  );
}

const placeText = ({ step, node, branch }: EventPlace): string =>
  [
    `step ${String(step)}`,
    ...(node === undefined ? [] : [node]),
    ...(branch === undefined ? [] : [`branch ${String(branch)}`]),
  ].join(', ');

interface EventRowProps {
  readonly item: ListedEvent;
  /** When the run's first event happened. */
  readonly start: number;
  readonly isFirstLive: boolean;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function EventRow({ item, start, isFirstLive, isSelected, onSelect }: EventRowProps) {
  const { event, seq, at, isLive } = item;
  const { title, text } = summaryOf(event);
  return (
    <>
      {isFirstLive && <p class="live-from">Live from here</p>}
      <button type="button" class={`event event-${event.event}`} aria-pressed={isSelected} onClick={onSelect}>
        <span class="event-seq">
          <span class="unseen">Event </span>
          {seq}
        </span>
        <span class="event-time">+{duration(at - start)}</span>
        <span class={`event-from ${isLive ? 'event-live' : ''}`}>{isLive ? 'live' : 'replay'}</span>
        <span class="event-kind">{kindTitles[event.event]}</span>
        <span class="event-text">
          <span class="event-title">{title}</span> {text}
        </span>
      </button>
    </>
  );
}
